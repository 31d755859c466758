"""Checkpoints: written atomically, resumable, convertible to any layout and to a plain state dict."""

from .resume import load_checkpoint, load_plain, save_checkpoint

__all__ = ["load_checkpoint", "load_plain", "save_checkpoint"]
