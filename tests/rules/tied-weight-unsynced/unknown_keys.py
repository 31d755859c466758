from deepspeed.pipe import TiedLayerSpec
from model import Embedding, Positions


def build(cfg, key):
    return [
        TiedLayerSpec("words", Embedding, cfg.vocab, cfg.dim),
        TiedLayerSpec("places", Positions, cfg.length, cfg.dim),
        TiedLayerSpec(key, Embedding, cfg.vocab, cfg.dim),
    ]
