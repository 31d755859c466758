def build(opts):
    return list(range(opts.crop_size)), getattr(opts, "noise_std", 0.0)
