def prepare(block, cached):
    block.attention = cached
