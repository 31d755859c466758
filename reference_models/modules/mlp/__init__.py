"""Feed-forward modules."""
