"""Pylint plugins and the onescience-check command line."""
