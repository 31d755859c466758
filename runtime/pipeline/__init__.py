"""The pipeline: what one rank holds of the model, and how its boundaries are crossed."""
