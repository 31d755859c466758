# from .era5 import ERA5Data
from .cmems import ERA5DataNew, LeakyData

__all__ = ["ERA5DataNew", "LeakyData"]
