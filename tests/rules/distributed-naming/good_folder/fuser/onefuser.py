_FUSER_REGISTRY = {"IceDistributedFuser": ("fuser.icedistributedfuser", "IceDistributedFuser")}
