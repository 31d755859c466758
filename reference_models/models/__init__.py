"""Models, plain and distributed."""
