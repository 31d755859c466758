_FUSER_REGISTRY = {"IceDistributedFuser": ("fuser.ice_tp", "IceDistributedFuser")}
