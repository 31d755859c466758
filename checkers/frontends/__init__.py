"""Command line, Pylint plugin and renderers: the same findings from the same engine."""
