"""Fusers."""
