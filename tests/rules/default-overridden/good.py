from megatron.training import pretrain


def main(datasets, model_provider, forward_step):
    defaults = {"dataloader_type": "cyclic", "pipeline_model_parallel_size": 1, "tokenizer_type": "NullTokenizer"}
    pretrain(datasets, model_provider, None, forward_step, args_defaults=defaults)
