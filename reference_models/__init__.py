"""Pangu-Weather and Xihe, plain and as 4-stage tensor- and pipeline-parallel models."""
