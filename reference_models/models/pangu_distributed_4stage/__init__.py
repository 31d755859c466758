"""Pangu-Weather as four pipeline stages with tensor parallelism inside each."""
