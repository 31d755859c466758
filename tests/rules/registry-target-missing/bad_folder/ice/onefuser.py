from ice.icefuser import IceFuser, SnowFuser

_FUSER_REGISTRY = {
    "IceFuser": IceFuser,
    "SnowFuser": SnowFuser,  # [registry-target-missing]
    "IceLazyFuser": ("ice.icefuser", "IceLazyFuser"),  # [registry-target-missing]
    "HailFuser": ("ice.hailfuser", "HailFuser"),  # [registry-target-missing]
    "DottedFuser": "ice.icefuser.DottedFuser",  # [registry-target-missing]
}
