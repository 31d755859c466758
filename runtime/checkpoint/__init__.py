"""Checkpoints: written atomically, resumable, convertible to any layout and to a plain state dict."""
