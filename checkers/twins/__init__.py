"""Distributed code held against the plain code that it was made from."""
