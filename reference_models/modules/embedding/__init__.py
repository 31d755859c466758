"""Patch embeddings."""
