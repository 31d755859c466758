"""Transformer blocks."""
