"""Applying the edits that findings carry: which fit together, whether they help, and writing them."""
