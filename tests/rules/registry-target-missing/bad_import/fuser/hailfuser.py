class HailFuser:
    pass
