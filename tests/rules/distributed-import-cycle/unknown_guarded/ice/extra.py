from ice.icedistributedfuser import IceDistributedFuser

EXTRA = IceDistributedFuser
