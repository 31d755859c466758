"""Which files to read, and reading them: no file of the user is ever imported or executed."""
