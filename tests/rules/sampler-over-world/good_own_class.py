from megatron.core import parallel_state


class MicroBatchSampler:
    def __init__(self, samples, consumed, micro_batch, replica, replicas):
        self.samples, self.consumed, self.micro_batch = samples, consumed, micro_batch
        self.replica, self.replicas = replica, replicas

    def __iter__(self):
        start = self.consumed
        while start < self.samples:
            first = start + self.replica * self.micro_batch
            yield list(range(first, first + self.micro_batch))
            start += self.replicas * self.micro_batch


def order(samples, consumed, args):
    return MicroBatchSampler(
        samples,
        consumed,
        args.micro_batch_size,
        parallel_state.get_data_parallel_rank(),
        parallel_state.get_data_parallel_world_size(),
    )
