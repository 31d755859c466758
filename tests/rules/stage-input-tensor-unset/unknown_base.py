from library.stages import Stage


class Ocean_stage0(Stage):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return x, x
