"""What one file says, without knowing any other file."""
