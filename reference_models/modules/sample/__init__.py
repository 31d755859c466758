"""Changes of resolution."""
