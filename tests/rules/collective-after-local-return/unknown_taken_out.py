import torch
import torch.distributed as dist


class Uploads:
    """A queue that is filled on all ranks alike and emptied by the number they agree on."""

    def __init__(self, group):
        self.queue, self.group = [], group

    def finished(self):
        done = []
        if len(self.queue) == 0:
            return done
        count = 0
        for event, _ in self.queue:
            if not event.query():
                break
            count += 1
        agreed = torch.tensor(count)
        dist.all_reduce(agreed, op=dist.ReduceOp.MIN, group=self.group)
        for _ in range(int(agreed)):
            done.append(self.queue.pop(0)[1])
        return done
