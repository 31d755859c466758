from megatron.training import get_args

FIELDS = ("freeze_encoder",)


def apply(build):
    args = get_args()
    return build(**{name: getattr(args, name) for name in FIELDS})
