"""What ranks do together: mesh axes of conditions, groups and values, and the collectives that a function enters."""
