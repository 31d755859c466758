"""How causes are found where no finding explains a log: small projects, each with the log of one mistake."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from onescience_check.checkers.diagnose.diagnosis import diagnose
from onescience_check.checkers.diagnose.stream import read_logs
from onescience_check.checkers.settings import load_settings

# A project, the lines of its traceback from outside, the exception, and the place among which the marked line comes.
# `#!` marks the mistake, `#1`, `#2` … the frames.
CASES: dict[str, tuple[str, str, int]] = {
    "a key of a dict": (
        """
def add_masks(raw):
    raw["mask"] = raw["text"].bool()  #!
    return raw

def core(scores, mask):
    return scores.masked_fill(mask, 0.0)  #2

def step(model, loader):
    batch = add_masks(next(loader))
    return core(model(batch["text"]), batch["mask"])  #1
""",
        "RuntimeError: The size of tensor a (16) must match the size of tensor b (32) at non-singleton dimension 3",
        3,
    ),
    "a key that is written under another name": (
        """
def save(model, optimizer, path):
    state = {"weights": model.state_dict(), "optimizer": optimizer.state_dict()}  #!
    write(state, path)

def load(model, optimizer, path):
    state = read(path)
    model.load_state_dict(state["model"])  #1
    optimizer.load_state_dict(state["optimizer"])
""",
        "KeyError: 'model'",
        1,
    ),
    "the other branch of a test": (
        """
def mix(probs, chosen, split):
    if split:
        weights = probs  #!
    else:
        weights = copy_to(probs)
    weights = weights.flatten(0, 1)
    return weights.gather(1, chosen)  #1
""",
        "RuntimeError: Size does not match at dimension 0 expected index [64, 2] to be no larger than self "
        "[32, 4] apart from dimension 1",
        3,
    ),
    "the object that failed": (
        """
class Norm:
    def __init__(self, dim):
        self.weight = ones(dim)

    def forward(self, x):
        y = x * rsqrt(x)
        return y * self.weight  #2

class Block:
    def __init__(self, hidden, ffn):
        self.norm = Norm(ffn)  #!

    def forward(self, x):
        return self.norm(x)  #1
""",
        "RuntimeError: The size of tensor a (32) must match the size of tensor b (64) at non-singleton dimension 2",
        3,
    ),
    "what a layer returns": (
        """
class Angles:
    def forward(self, length):
        freqs = outer(length, self.base)
        both = freqs  #!
        return both.cos(), both.sin()

class Net:
    def __init__(self):
        self.angles = Angles()

    def forward(self, x):
        turned = self.angles(x.shape[0])
        return turn(x, turned)  #1

def turn(x, turned):
    return x * turned  #2
""",
        "RuntimeError: The size of tensor a (8) must match the size of tensor b (4) at non-singleton dimension 3",
        3,
    ),
    "a loop": (
        """
def groups(model):
    for p in model.named_parameters():  #!
        if p.requires_grad:  #1
            yield p
""",
        "AttributeError: 'tuple' object has no attribute 'requires_grad'",
        1,
    ),
    "exchanged entries": (
        """
def forward_step(batch, model):
    return model(batch["ids"], batch["images"])  #! #1

class Net:
    def forward(self, images, ids):
        b, c, h, w = images.shape  #2
""",
        "ValueError: not enough values to unpack (expected 4, got 2)",
        1,
    ),
    "an argument in the place of another": (
        """
def forward_step(batch, model):
    return model(batch["images"], batch["labels"])  #! #1

class Net:
    def forward(self, images, mask, labels=None):
        return images.masked_fill(mask, 0.0)  #2
""",
        "RuntimeError: The size of tensor a (16) must match the size of tensor b (32) at non-singleton dimension 3",
        1,
    ),
    "a layer that was not called": (
        """
class Block:
    def __init__(self):
        self.norm = Norm()
        self.mlp = Mlp()

    def forward(self, x):
        return x + self.mlp(self.norm)  #! #1

class Mlp:
    def forward(self, x):
        return self.fc(x)  #2
""",
        "TypeError: linear(): argument 'input' (position 1) must be Tensor, not Norm",
        1,
    ),
    "what a function returns": (
        """
def share(total):
    per = total // 2
    return per  #!

def build(total):
    offset, count = share(total)  #1
""",
        "TypeError: cannot unpack non-iterable int object",
        1,
    ),
    "one end of the pipeline for the other": (
        """
def step(loader, model):
    is_last = is_pipeline_first_stage()  #!
    label = None
    if is_last:
        label = next(loader)
    return loss(model(), label)  #1

def loss(output, label):
    return output - label  #2
""",
        "TypeError: unsupported operand type(s) for -: 'Tensor' and 'NoneType'",
        1,
    ),
    "a seed that is missing": (
        """
def seed_all(seed):  #!
    torch.manual_seed(seed)

def core(probs):
    with get_cuda_rng_tracker().fork():  #1
        return probs
""",
        "Exception: cuda rng state model-parallel-rng is not added",
        3,
    ),
}


def frames(text: str) -> tuple[str, list[int]]:
    """The log, and the lines that are marked as the mistake."""
    lines = text.split("\n")
    log = ["Traceback (most recent call last):"]
    for number in "123":
        for line, code in enumerate(lines, 1):
            if re.search(rf"#{number}\b", code):
                log += [f'  File "/run/proj/net.py", line {line}, in f', f"    {code.strip()}"]
    return "\n".join(log), [line for line, code in enumerate(lines, 1) if "#!" in code]


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_mistake_is_among_the_causes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, exception, best = CASES[name]
    log, marked = frames(text)
    (tmp_path / "proj").mkdir()
    (tmp_path / "proj/net.py").write_text(text, "utf-8")
    (tmp_path / "run.log").write_text(f"{log}\n{exception}\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    made = diagnose(read_logs([Path("run.log")]), [Path("proj")], load_settings(tmp_path))
    assert set(marked) & {cause.line for cause in made.causes[:best]}, [
        (cause.line, cause.weight, cause.code) for cause in made.causes
    ]


WAITING = """import torch.distributed as dist

def counts_here(p):
    return p.shared or rank() == 0

def norm(params):
    total = 0.0
    for p in params:
        if counts_here(p):
            dist.all_reduce(p.grad)
    return total

def read(batch):
    dist.broadcast(batch, src=0)
"""


def test_ranks_that_wait_lead_to_the_test_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.py").write_text(WAITING, "utf-8")
    error = "RuntimeError: [unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation to complete"
    log = []
    for rank, line, name in ((0, 10, "norm"), (1, 14, "read")):
        code = WAITING.splitlines()[line - 1].strip()
        text = f'Traceback (most recent call last):\n  File "/run/net.py", line {line}, in {name}\n    {code}\n{error}'
        log += [f"[rank{rank}]: {part}" for part in text.splitlines()]
    (tmp_path / "run.log").write_text("\n".join(log) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    made = diagnose(read_logs([Path("run.log")]), [Path("net.py")], load_settings(tmp_path))
    assert made.causes[0].line == 9


def test_a_log_of_any_size_keeps_its_memory(tmp_path: Path) -> None:
    """Two sizes of one log, made by the script beside the benchmark: the larger one takes no more memory."""
    script = Path(__file__).parents[2] / "benchmarks/diagnose/large.py"
    reading = (
        "import sys, resource; from pathlib import Path\n"
        "from onescience_check.checkers.diagnose.stream import read_logs\n"
        "log = read_logs([], sys.stdin.buffer)\n"
        "print(log.bytes, len(log.failures), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    told = []
    for size in ("0.02", "0.08"):
        made = subprocess.Popen([sys.executable, str(script), size], stdout=subprocess.PIPE)
        read = subprocess.run(
            [sys.executable, "-c", reading], stdin=made.stdout, capture_output=True, check=True
        )
        made.wait()
        told.append([int(word) for word in read.stdout.split()])
    assert told[1][0] > 3 * told[0][0]
    assert told[1][2] - told[0][2] < 24_000  # kilobytes
