from mapping import Mapping


def build(args):
    assert args.n_layer % args.pp_size == 0, "the stages must hold the same number of layers"
    return layers_of(args.n_layer, Mapping(args.pp_size, args.pp_rank, args.tp_group))


def layers_of(num_layers, mapping):
    return mapping.layers(num_layers)
