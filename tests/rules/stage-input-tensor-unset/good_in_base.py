from torch import nn


class Stage(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.pre_process = self.share_embeddings_and_output_weights = self.input_tensor = None
        self.config = config

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor


class Ocean_stage0(Stage):
    def forward(self, x):
        return x, x


class Ocean_stage1(Stage):
    def forward(self, x=None):
        return self.input_tensor[0]
