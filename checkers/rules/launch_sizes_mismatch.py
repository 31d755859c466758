"""E7555"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.launch import Launch, launches
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

PIPELINE = ("pipeline-model-parallel-size",)
TENSOR = ("tensor-model-parallel-size",)
_CONTEXT = ("context-parallel-size",)
_EACH_NODE = ("nproc-per-node",)
_NODES = ("nnodes",)


class LaunchSizesMismatch(Rule):
    """The shell script starts the training with sizes that the stages or the processes do not fit."""

    code, symbol = "E7555", "launch-sizes-mismatch"
    message = "%(problem)s"
    advice = (
        "Start as many pipeline stages as the script builds, and a multiple of tp x pp processes, nodes times "
        "processes of each."
    )
    why = (
        "Megatron cuts all processes into tensor- and pipeline-parallel groups of equal size, and the script looks up "
        "a stage class for each pipeline rank."
    )
    symptom = Symptom.CRASH
    runtime = "RuntimeError: world_size is not divisible by ...; or KeyError: 4 where the stage of a rank is looked up"
    limits = (
        "Only shell scripts beside the training script that start it and nothing else, with sizes that are written out "
        "or stand in a variable set once."
    )
    guide = "3.1 model_provider"

    bad = """
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

    # run.sh beside it starts two stages
    shapes = PipelineTensorShapeConfig(  # [launch-sizes-mismatch]
        num_stages=3, stage_shapes=[[[1, 96, 32]], [[1, 96, 32]]]
    )
    """
    good = """
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

    # run.sh beside it starts two stages
    shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32]]])
    """
    beside = {"run.sh": "torchrun --nproc_per_node=2 example.py --pipeline-model-parallel-size 2\n"}

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            if not script.drives_stages:
                continue
            for launch in launches(script):
                yield from self._launch(script, launch)

    def _launch(self, script: TrainingScript, launch: Launch) -> Iterator[Finding]:
        stages, pipeline = script.num_stages, launch.number(*PIPELINE)
        node = script.shape_configs[0].node if script.shape_configs else script.module.tree.body[0]
        if stages is not None and pipeline is not None and pipeline != stages:
            yield self.finding(
                place_of(script.module, node),
                evidence=(_said(launch, PIPELINE),),
                problem=tr(
                    "the script builds %(stages)s stages, and %(file)s starts it with "
                    "--pipeline-model-parallel-size %(pipeline)s",
                    stages=stages,
                    file=launch.display.rsplit("/", 1)[-1],
                    pipeline=pipeline,
                ),
            )
        each, nodes = launch.number(*_EACH_NODE), launch.number(*_NODES)
        sizes = [launch.number(*names) for names in (TENSOR, PIPELINE, _CONTEXT)]
        hidden = {*TENSOR, *PIPELINE, *_CONTEXT, *_NODES} & launch.named - launch.options.keys()
        world = None if each is None or hidden else each * (nodes or 1)
        group = math.prod(size or 1 for size in sizes)
        if world is not None and world % group:
            yield self.finding(
                place_of(script.module, node),
                evidence=(_said(launch, _EACH_NODE),),
                problem=tr(
                    "%(file)s starts %(world)s processes, which is no multiple of %(group)s, the product of its "
                    "parallel sizes",
                    file=launch.display.rsplit("/", 1)[-1],
                    world=world,
                    group=group,
                ),
            )


def _said(launch: Launch, names: tuple[str, ...]) -> Evidence:
    return Evidence(launch.display, launch.line(*names), tr("the size is given here"))
