def forward_step(data_iterator, model):
    field, label = next(data_iterator)
    model.channel.send(label)
    return model(field), label
