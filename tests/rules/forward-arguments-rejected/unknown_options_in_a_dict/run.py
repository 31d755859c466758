from options import values


def start(args):
    values.update({"dispatch": args.dispatch})
