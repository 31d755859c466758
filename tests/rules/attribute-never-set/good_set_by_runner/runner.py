def bind(module, cache):
    module.kv_cache = cache
