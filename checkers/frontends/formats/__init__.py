"""The forms in which a result is written: one for a reader, and those that other programs take in."""
