"""The one description of what crosses the pipeline's boundaries."""

import math
from collections.abc import Sequence

import torch

from .errors import UserError


class PipelineTensorShapeConfig:
    """Shapes of the tensors that each stage sends to the next.

    The tensors of a boundary travel as one flat message of shape (1, 1, N): upstream schedules send one
    tensor per boundary, and back-propagate the gradient of one. `pack` and `unpack` are differentiable, so
    that the gradient of the message holds the gradient of every tensor.

    Args:
        num_stages: stages of the model, S.
        stage_shapes: S - 1 entries. Entry i lists the shapes of the tensors in the tuple that stage i
            returns, batch size included.
        window_parallel_size: ranks that share the tokens, axis 1 of each shape: one sends its part of them.

    Raises:
        UserError: another number of entries, an entry that is not a list of shapes, or tokens that cannot be shared.
    """

    def __init__(
        self, num_stages: int, stage_shapes: Sequence[Sequence[Sequence[int]]], window_parallel_size: int = 1
    ) -> None:
        if not isinstance(num_stages, int) or num_stages < 1:
            raise UserError(f"PipelineTensorShapeConfig: num_stages must be 1 or more, not {num_stages!r}")
        if len(stage_shapes) != num_stages - 1:
            raise UserError(
                f"PipelineTensorShapeConfig: {num_stages} stages have {num_stages - 1} boundaries, but "
                "stage_shapes "
                f"has {len(stage_shapes)} entries: give one list of shapes for each stage but the last"
            )
        self.num_stages = num_stages
        whole = [self._checked(stage, shapes) for stage, shapes in enumerate(stage_shapes)]
        self.stage_shapes = [
            [self._part(stage, shape, window_parallel_size) for shape in shapes]
            for stage, shapes in enumerate(whole)
        ]

    @staticmethod
    def _part(stage: int, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
        if size > 1 and (len(shape) < 2 or shape[1] % size):
            raise UserError(
                f"PipelineTensorShapeConfig: entry {stage} of stage_shapes holds {list(shape)}, whose axis 1 cannot be "
                f"shared by --window-parallel-size {size}"
            )
        return shape if size == 1 else (shape[0], shape[1] // size, *shape[2:])

    @staticmethod
    def _checked(stage: int, shapes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        try:
            checked = [tuple(int(size) for size in shape) for shape in shapes]
        except TypeError:
            checked = []
        if not checked or any(not shape or min(shape) < 1 for shape in checked):
            raise UserError(
                f"PipelineTensorShapeConfig: entry {stage} of stage_shapes must be a list of shapes, such as "
                f"[[1, 360, 64], [1, 360, 64]], not {shapes!r}"
            )
        return checked

    def message_shape(self, stage: int) -> tuple[int, int, int]:
        """Shape (1, 1, N) of the message that `stage` sends."""
        return (1, 1, sum(math.prod(shape) for shape in self.stage_shapes[stage]))

    def largest_message_shape(self) -> tuple[int, int, int]:
        """Shape (1, 1, N) of the longest message of any stage."""
        return max(self.message_shape(stage) for stage in range(self.num_stages - 1))

    def pack(
        self, stage: int, tensors: Sequence[torch.Tensor], dtype: torch.dtype, length: int | None = None
    ) -> torch.Tensor:
        """Join what `stage` returned into its message, padded with zeros to `length` numbers.

        Raises:
            UserError: the tensors are not those described, or not of the pipeline's dtype.
        """
        self.check(stage, tensors, dtype)
        # Not a view: the schedule frees the storage of what it has sent, which a base would keep alive.
        parts = [tensor.reshape(1, 1, -1) for tensor in tensors]
        missing = 0 if length is None else length - self.message_shape(stage)[2]
        if missing:
            parts.append(parts[0].new_zeros(1, 1, missing))
        return torch.cat(parts, dim=2)

    def unpack(self, stage: int, message: torch.Tensor) -> list[torch.Tensor]:
        """The tensors that `stage` sent, as views of its message."""
        shapes = self.stage_shapes[stage]
        parts = message.view(-1)[: self.message_shape(stage)[2]].split([math.prod(shape) for shape in shapes])
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    def check(self, stage: int, tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> None:
        """Raise UserError unless `tensors` are what `stage` was said to return."""
        expected = self.stage_shapes[stage]
        if not isinstance(tensors, tuple | list) or not all(
            isinstance(tensor, torch.Tensor) for tensor in tensors
        ):
            raise UserError(
                f"stage {stage} must return a tuple of {len(expected)} tensors, not {_describe(tensors)}"
            )
        actual = [tuple(tensor.shape) for tensor in tensors]
        if actual != expected:
            raise UserError(
                f"stage {stage} returned tensors of shapes {_shapes(actual)}, but entry {stage} of "
                "stage_shapes says "
                f"{_shapes(expected)}: make the two agree in model_provider"
            )
        for index, tensor in enumerate(tensors):
            if tensor.dtype != dtype:
                raise UserError(
                    f"stage {stage} returned tensor {index} as {tensor.dtype}, but the pipeline carries "
                    f"{dtype}: cast "
                    "it before it is returned"
                )


def _shapes(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(str(list(shape)) for shape in shapes)


def _describe(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"({', '.join(type(item).__name__ for item in value)})"
    return type(value).__name__
