class Data:
    pass
