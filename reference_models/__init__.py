"""Pangu-Weather, plain and as a 4-stage tensor- and pipeline-parallel model."""
