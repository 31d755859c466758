"""What the files say together: names, classes, registries, modules."""
