class ERA5DataNew:
    pass


class LeakyData:
    pass
