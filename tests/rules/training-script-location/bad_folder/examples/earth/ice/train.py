from onescience.distributed.megatron.training import pretrain


def forward_step(data_iterator, model):
    return model(next(data_iterator)), None


def main():
    pretrain(None, None, forward_step)  # [training-script-location]


if __name__ == "__main__":
    main()
