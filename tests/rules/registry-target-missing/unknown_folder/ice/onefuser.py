import installed

_FUSER_REGISTRY = {
    "Dynamic": ("ice.dynamic", "DynamicFuser"),
    "Star": ("ice.stars", "StarFuser"),
    "Installed": ("installed.fusers", "InstalledFuser"),
    "Other": installed.OtherFuser,
    "Text": "a description of it.",
}
