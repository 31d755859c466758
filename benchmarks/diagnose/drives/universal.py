"""Train the tree's `vlmtrain` for two steps on CPUs in the layout of a name such as `ckpt_tp2pp2` or `pp2_tied`.

Words of the name: tpN, ppN, sp; `tied` embeddings; `drop` for dropout; `bf16`; `ckpt` writes and reads checkpoints.
"""

import os
import re
import sys

from onescience_check.runtime import cpu_emulation

name = sys.argv[1]
sys.path.insert(0, os.getcwd())
cpu_emulation.install()

from vlmtrain import train  # noqa: E402
from vlmtrain.models.decoder import stage_layers  # noqa: E402
from vlmtrain.training import checkpoint  # noqa: E402

SAVED = os.path.abspath("saved")
make_run, make_trainer = train.make_run, train.Trainer
trained = []


def run_of_the_name(args):
    run = make_run(args)
    run.text.tie_embeddings = "tied" in name
    if "drop" in name:
        run.text.hidden_dropout = run.text.attention_dropout = 0.1
    if "ckpt" in name:
        run.train.save_dir, run.train.save_every = SAVED, 1
    return run


def kept_trainer(run, model):
    trained.append(make_trainer(run, model))
    return trained[-1]


train.make_run, train.Trainer = run_of_the_name, kept_trainer
sizes = dict(re.findall(r"(tp|pp)(\d)", name))
flags = ["--tp", sizes.get("tp", "1"), "--pp", sizes.get("pp", "1"), "--steps", "2"]
sys.argv = ["train.py", *flags, *(["--sp"] if "sp" in name else []), *(["--bf16"] if "bf16" in name else [])]
train.main()
if "ckpt" in name:
    model, optimizer = trained[0].model, trained[0].optimizer
    offset = stage_layers(trained[0].run.text.num_layers)[0]
    checkpoint.load_sharded(SAVED, model, optimizer)
    checkpoint.save_whole(os.path.join(SAVED, "whole.pt"), model, offset)
    checkpoint.load_whole(os.path.join(SAVED, "whole.pt"), model, offset)
