from deepspeed.pipe import LayerSpec, PipelineModule, TiedLayerSpec
from model import Block, Embedding, head


def build(cfg):
    specs = [TiedLayerSpec("embed", Embedding, cfg.vocab, cfg.dim, tied_weight_attr="weight")]
    specs += [LayerSpec(Block, cfg.dim) for _ in range(cfg.layers)]
    specs.append(TiedLayerSpec("head", Embedding, cfg.vocab, cfg.dim, forward_fn=head))  # [tied-weight-unsynced]
    return PipelineModule(layers=specs, num_stages=2)
