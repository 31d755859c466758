from megatron.core import mpu
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def forward(self, nodes, edges):
        return self.layer(nodes), self.layer(edges)


class Processor(nn.Module):
    def __init__(self, dim, depth=8):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth_of(dim))])

    def forward(self, nodes, edges):
        for block in self.blocks:
            nodes, edges = block(nodes + edges), block(edges)
        return nodes, edges


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def forward(self, nodes, edges):
        return self.layer(nodes + edges)


class MeshModel(nn.Module):
    def __init__(self, dim=64, config=None, **kwargs):
        super().__init__()
        self.pre_process = self.share_embeddings_and_output_weights = None
        self.config = config
        self.input_tensor = None
        rank = mpu.get_pipeline_model_parallel_rank()
        size = mpu.get_pipeline_model_parallel_world_size()
        if size == 2:
            if rank == 0:
                self.kind = "encoder"
                self.encoder = Encoder(dim)
            else:
                self.kind = "rest"
                self.processor = Processor(dim)
                self.decoder = Decoder(dim)
        elif rank == 0:
            self.kind = "encoder"
            self.encoder = Encoder(dim)
        elif rank == size - 1:
            self.kind = "decoder"
            self.decoder = Decoder(dim)
        else:
            self.kind = "processor"
            self.processor = Processor(dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        is_first = mpu.get_pipeline_model_parallel_rank() == 0
        if is_first:
            nodes, edges = x
        else:
            nodes, edges = self.input_tensor
        if self.kind == "encoder":
            nodes, edges = self.encoder(nodes, edges)
            return nodes, edges
        if self.kind in ("processor", "rest"):
            nodes, edges = self.processor(nodes, edges)
            if self.kind == "processor":
                return nodes, edges
        return self.decoder(nodes, edges)
