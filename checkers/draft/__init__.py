"""A first draft of a distributed model, written from the plain one."""
