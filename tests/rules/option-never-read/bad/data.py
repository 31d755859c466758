def build(args):
    return list(range(args.crop_size))


class Crops:
    def __init__(self, noise_std):
        self.noise_std = noise_std
