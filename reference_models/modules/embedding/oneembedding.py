"""Patch embeddings, chosen by style."""

from torch import nn

from .panguembedding import PanguEmbedding

_EMBEDDING_REGISTRY = {
    "PanguEmbedding": PanguEmbedding,
}


class OneEmbedding(nn.Module):
    """Builds the embedding named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _EMBEDDING_REGISTRY:
            raise ValueError(
                f"unknown embedding style {style!r}; choose one of {sorted(_EMBEDDING_REGISTRY)}"
            )
        self.embedding = _EMBEDDING_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.embedding(*args, **kwargs)
