"""Whatever the user's code does, there is one clear line with its place, an end, and no process left."""

import pytest

from onescience_check.runtime.verify import numbers, shapes

SCRIPT = """
import torch
from torch import nn
from onescience_check.runtime.core import mpu
from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from onescience_check.runtime.training import get_args, pretrain
from onescience_check.runtime.training.arguments import core_transformer_config_from_args


class Toy(nn.Module):
    def __init__(self, img_size=(4, 8), dim=8):
        super().__init__()
        self.a = nn.Conv2d(3, dim, 1)
        self.b = nn.Conv2d(dim, 3, 1)

    def forward(self, x):
        return self.b(self.a(x))


class Toy_stage0(nn.Module):
    def __init__(self, img_size=(4, 8), dim=8, config=None, **kwargs):
        super().__init__()
        self.config = config
        self.a = nn.Conv2d(3, dim, 1)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        x = self.a(x)
        FAULT
        return (x,)


class Toy_stage1(nn.Module):
    def __init__(self, img_size=(4, 8), dim=8, config=None, **kwargs):
        super().__init__()
        self.config = config
        self.b = nn.Conv2d(dim, 3, 1)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.b(self.input_tensor[0])


def model_provider(pre_process=False, post_process=True):
    config = core_transformer_config_from_args(get_args())
    stages = {0: Toy_stage0, 1: Toy_stage1}
    model = stages[mpu.get_pipeline_model_parallel_rank()](img_size=(4, 8), dim=8, config=config)
    shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 8, 4, 8]]])
    get_args().pipeline_tensor_shape_config = shapes
    return model


def forward_step_func(data_iterator, model):
    x, y = next(data_iterator)

    def loss_func(output):
        loss = (output - y).square().mean()
        return loss, torch.ones((), dtype=torch.int), {"lm loss": loss.detach()}

    return model(x.float()), loss_func


if __name__ == "__main__":
    pretrain(
        train_valid_test_dataset_provider=None,
        model_provider=model_provider,
        model_type=None,
        forward_step_func=forward_step_func,
    )
"""
LINE = SCRIPT[: SCRIPT.index("FAULT")].count("\n") + 1


def run(tmp_path, monkeypatch, fault: str, part=shapes, **options):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.replace("FAULT", fault))
    monkeypatch.chdir(tmp_path)
    return part(script, tp=2, pp=2, **options)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("n = x.sum().item()", "asks for the numbers of a tensor"),
        ("torch.cuda.current_stream()", "only a GPU can do"),
        ("x = x + 1 if x.max() > 0 else x", "the condition was taken as true"),
    ],
)
def test_what_a_dry_run_cannot_tell_is_no_finding(tmp_path, monkeypatch, fault, words):
    result = run(tmp_path, monkeypatch, fault)
    assert result.findings == []
    assert any(words in note and f"train.py:{LINE}" in note for note in result.notes)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("import not_there; not_there.load(x, x)", "crash", "not_there.load is needed here"),
        ("while True: pass", "hang", "did not end within"),
        ("import os; os._exit(3)", "crash", "ended with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "crash", "killed by SIGKILL"),
        ("import os; os.abort()", "crash", "killed by SIGABRT"),
        ("import os; os.kill(os.getppid(), 0); os._exit(4)", "crash", "ended with status 4"),
        ("open('mask.npy')", "crash", "what it reads must be there"),
        ("keep = bytearray(40 << 30)", "crash", "more memory than --memory allows"),
    ],
)
def test_what_stops_the_run_is_one_finding(tmp_path, monkeypatch, fault, kind, words):
    [finding] = run(tmp_path, monkeypatch, fault, limit=12 if kind == "hang" else 60).findings
    assert finding.kind == kind
    assert words in finding.message
    assert (finding.path, finding.line) == ("train.py", LINE)


def test_a_small_model_computes_what_its_original_computes(tmp_path, monkeypatch):
    assert run(tmp_path, monkeypatch, "pass", numbers).findings == []
