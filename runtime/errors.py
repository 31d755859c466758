"""The error a user can act on."""


class UserError(Exception):
    """Something outside the code is wrong: a flag, a file, the number of processes.

    The message is all that the user sees, so it says what is wrong and what to do. ``pretrain`` and the
    command line tools print it without a traceback, once for the whole world, and every rank exits with a
    non-zero status.
    """


def loader_died(error: Exception) -> UserError | None:
    """What to say of an error if it is torch's word that a loader process died, None if it is another.

    Torch raises it wherever the rank happens to be: its handler of SIGCHLD does.
    """
    if not isinstance(error, RuntimeError) or "DataLoader worker" not in str(error):
        return None
    return UserError(
        f"a loader process died ({str(error).splitlines()[0]}): is the memory full? Lower --num-workers; "
        "--load goes on from the last checkpoint"
    )
