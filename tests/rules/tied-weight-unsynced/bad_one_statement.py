import torch
from torch import nn
from megatron.core import mpu
from megatron.core.enums import ModelType
from megatron.core.pipeline_parallel import get_forward_backward_func


class TiedLM(nn.Module):
    def __init__(self, cfg, pre_process, post_process):
        super().__init__()
        self.config, self.model_type = cfg, ModelType.encoder_or_decoder
        self.pre_process, self.post_process, self.input_tensor = pre_process, post_process, None
        self.share_embeddings_and_output_weights = True
        if pre_process or post_process:
            self.word_embeddings = nn.Embedding(cfg.vocab, cfg.hidden_size)  # [tied-weight-unsynced]
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(cfg.hidden_size, 8) for _ in range(cfg.n))

    def set_input_tensor(self, t):
        self.input_tensor = t[0] if isinstance(t, list) else t

    def forward(self, ids):
        h = self.word_embeddings(ids) if self.pre_process else self.input_tensor
        for l in self.layers:
            h = l(h)
        return h @ self.word_embeddings.weight.t() if self.post_process else h


def fstep(it, model):
    ids, lab = next(it)
    return model(ids), lambda o: (nn.functional.cross_entropy(o.flatten(0, 1), lab.flatten()), {})


def train(cfg, it):
    m = TiedLM(cfg, mpu.is_pipeline_first_stage(), mpu.is_pipeline_last_stage())
    opt = torch.optim.Adam(m.parameters())
    get_forward_backward_func()(forward_step_func=fstep, data_iterator=it, model=m, num_microbatches=4, seq_length=128, micro_batch_size=1, forward_only=False)
    opt.step()
