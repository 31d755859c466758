from torch import nn

_TRANSFORMER_REGISTRY = {"Identity": nn.Identity}


class OneTransformer(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.transformer = _TRANSFORMER_REGISTRY[style](**kwargs)
