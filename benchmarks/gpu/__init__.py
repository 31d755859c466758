"""The reference Pangu-Weather on real GPUs. ``python -m benchmarks.gpu.run`` runs everything."""
