from .cmems import Data as ERA5Data

size, other = 1, 2


def setup():
    global shared
    shared = 1
