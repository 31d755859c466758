"""The style takes no `channels`: that is for style-arguments-rejected to say, not that `variables` is left out."""

from torch import nn


class GridEmbedding(nn.Module):
    def __init__(self, size, dim, variables=5):
        super().__init__()
        self.body = nn.Conv2d(variables, dim, size)

    def forward(self, x):
        return self.body(x)


class Layer(nn.Module):
    def __init__(self, dim, depth, num_heads=4, window_size=(2, 6, 12)):
        super().__init__()
        self.body = nn.Linear(dim, dim)

    def forward(self, x):
        return self.body(x)


_EMBEDDING_REGISTRY = {"GridEmbedding": GridEmbedding}


class OneEmbedding(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.embedding = _EMBEDDING_REGISTRY[style](**kwargs)

    def forward(self, x):
        return self.embedding(x)


class Tarn(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = OneEmbedding(style="GridEmbedding", size=4, variables=7, dim=dim)
        self.layer1 = Layer(dim, depth=4)
        self.layer2 = Layer(dim, depth=4)

    def forward(self, x):
        return self.layer2(self.layer1(self.embed(x)))


class Tarn_stage0(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = OneEmbedding(style="GridEmbedding", size=4, dim=dim, channels=7)
        self.layer1 = Layer(dim, depth=4)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer1(self.embed(x))


class Tarn_stage1(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.layer2 = Layer(dim, depth=4)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer2(self.input_tensor[0])
