"""Stacks of transformer blocks."""
