"""What was found before: the accepted findings of a baseline, and those of an earlier revision."""
