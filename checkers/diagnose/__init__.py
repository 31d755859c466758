"""From the log of a run that failed to the lines of this project that explain it."""
