from case import FieldModelStage


class Stage0(FieldModelStage):
    def __init__(self, config):
        super().__init__(8, True, config)


class Stage1(FieldModelStage):
    def __init__(self, config):
        super().__init__(8, False, config)
