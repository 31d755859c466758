"""Recovery of fields from tokens."""
