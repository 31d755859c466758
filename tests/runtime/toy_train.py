"""A training script by the guide's step 3 for a small four-stage model with a skip connection."""

from functools import partial

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, checkpoint
from torch import nn

from onescience_check.runtime.core import mpu
from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from onescience_check.runtime.training import get_args, pretrain
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

TOKENS, DIM, HIDDEN = 6, 8, 16


class Block(nn.Module):
    """LayerNorm, a sharded MLP with dropout, residual."""

    def __init__(self, config):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        shared = {
            "config": config,
            "init_method": nn.init.xavier_uniform_,
            "bias": True,
            "skip_bias_add": False,
        }
        self.fc1 = ColumnParallelLinear(DIM, HIDDEN, gather_output=False, **shared)
        self.fc2 = RowParallelLinear(HIDDEN, DIM, input_is_parallel=True, **shared)

    def forward(self, x):
        hidden, _ = self.fc1(self.norm(x))
        out, _ = self.fc2(torch.tanh(hidden))
        return x + nn.functional.dropout(out, get_args().toy_dropout, self.training)


class PlainBlock(nn.Module):
    """`Block` with layers of torch."""

    def __init__(self):
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(DIM), nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return x + self.fc2(torch.tanh(self.fc1(self.norm(x))))


class PlainToy(nn.Module):
    """The whole model on one process; a stage's names are a subset of its names."""

    def __init__(self):
        super().__init__()
        self.embed, self.recovery = nn.Linear(3, DIM), nn.Linear(2 * DIM, 3)
        for number in range(1, 5):
            setattr(self, f"layer{number}", PlainBlock())

    def forward(self, x):
        x = skip = self.layer1(self.embed(x))
        x = self.layer3(self.layer2(x) * skip.mean())
        return self.recovery(torch.cat([self.layer4(x), skip], dim=-1))


class Toy_stage(nn.Module):
    """What the schedule asks of every stage."""

    def __init__(self, config, **kwargs):
        super().__init__()
        self.pre_process = self.share_embeddings_and_output_weights = self.input_tensor = None
        self.config = config

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor


class Toy_stage0(Toy_stage):
    def __init__(self, config, **kwargs):
        super().__init__(config)
        self.embed, self.layer1 = nn.Linear(3, DIM), Block(config)

    def forward(self, x):
        x = self.embed(x)
        recompute = self.config.recompute_granularity == "full"
        x = checkpoint(self.layer1, False, x) if recompute else self.layer1(x)
        return x, x.clone()


class Toy_stage1(Toy_stage):
    def __init__(self, config, **kwargs):
        super().__init__(config)
        self.layer2 = Block(config)

    def forward(self, x=None):
        x, skip = self.input_tensor
        return self.layer2(x) * skip.mean(), skip


class Toy_stage2(Toy_stage):
    def __init__(self, config, **kwargs):
        super().__init__(config)
        self.layer3 = Block(config)

    def forward(self, x=None):
        x, skip = self.input_tensor
        return self.layer3(x), skip


class Toy_stage3(Toy_stage):
    def __init__(self, config, **kwargs):
        super().__init__(config)
        self.layer4, self.recovery = Block(config), nn.Linear(2 * DIM, 3)

    def forward(self, x=None):
        x, skip = self.input_tensor
        return self.recovery(torch.cat([self.layer4(x), skip], dim=-1))


class ToyData(torch.utils.data.Dataset):
    """Twelve samples that are functions of their number."""

    def __init__(self, size=12):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        x = torch.sin(torch.arange(TOKENS * 3).reshape(TOKENS, 3) * (index + 1.0))
        return x.double().numpy(), (x * 0.5).double().numpy()


def model_provider(pre_process=False, post_process=True):
    """The stage of this pipeline rank."""
    args = get_args()
    stages = {0: Toy_stage0, 1: Toy_stage1, 2: Toy_stage2, 3: Toy_stage3}
    stage = stages[mpu.get_pipeline_model_parallel_rank()](config=core_transformer_config_from_args(args))
    sent = [[args.micro_batch_size, args.toy_tokens, DIM]] * 2
    args.pipeline_tensor_shape_config = PipelineTensorShapeConfig(num_stages=4, stage_shapes=[sent] * 3)
    return stage


def forward_step_func(data_iterator, model):
    """Mean squared error of one micro-batch."""
    data = next(data_iterator)
    invar, outvar = data[0].cuda().float(), data[1].cuda().float()
    output = model(invar)

    def loss_func(output):
        loss = nn.functional.mse_loss(output, outvar)
        num_tokens = torch.tensor(1, device="cuda")
        return loss, num_tokens, {"lm loss": torch.cat([loss.clone().detach().view(1), num_tokens.view(1)])}

    return output, partial(loss_func)


def dataset_provider(train_val_test_num_samples):
    """Training, validation and test data."""
    return ToyData(), ToyData(5), None


def toy_flags(parser):
    """Flags of this script alone."""
    parser.add_argument("--toy-dropout", type=float, default=0.0)
    parser.add_argument("--toy-tokens", type=int, default=TOKENS)
    return parser


if __name__ == "__main__":
    dataset_provider.is_distributed = True
    pretrain(
        train_valid_test_dataset_provider=dataset_provider,
        model_provider=model_provider,
        model_type=None,
        forward_step_func=forward_step_func,
        args_defaults={"dataloader_type": "cyclic"},
        extra_args_provider=toy_flags,
    )
