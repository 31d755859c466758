"""The error a user can act on."""


class UserError(Exception):
    """Something outside the code is wrong: a flag, a file, the number of processes.

    The message is all that the user sees, so it says what is wrong and what to do. ``pretrain`` and the
    command line tools print it without a traceback, once for the whole world, and every rank exits with a
    non-zero status.
    """
