"""Answers of earlier runs, used again where a new run would see the same files."""
