import torch
from megatron.core import parallel_state


class Trainer:
    def __init__(self, chunks, optimizer, data):
        self.chunks, self.optimizer, self.data = chunks, optimizer, data

    def run(self, steps):
        while steps:
            self.one()
            steps -= 1

    def one(self):
        for chunk in self.chunks:
            chunk(next(self.data)).mean().backward()
        self.optimizer.step()
        if parallel_state.is_pipeline_last_stage():
            self._evaluate()

    def _evaluate(self):
        with torch.no_grad():
            found = [chunk(next(self.data)) for chunk in self.chunks]
        for chunk in self.chunks:
            chunk.train()  # [mode-not-switched]
        return found
