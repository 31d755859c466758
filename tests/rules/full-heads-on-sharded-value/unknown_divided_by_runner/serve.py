def prepare(config, tp_size):
    config.num_query_groups //= tp_size
    return config
