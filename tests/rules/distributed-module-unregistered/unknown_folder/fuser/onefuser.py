from fuser.more import MORE

_FUSER_REGISTRY = {"IceFuser": ("fuser.icefuser", "IceFuser"), **MORE}
