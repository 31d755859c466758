"""Pangu-Weather and Xihe, plain and as 4-stage tensor- and pipeline-parallel models."""

from onescience_check import runtime  # noqa: F401  before megatron-core, whose remarks it silences
