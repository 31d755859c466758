"""Folders that one run alone writes to."""

import argparse
import fcntl
import os
import socket
from pathlib import Path
from typing import IO

from ..errors import UserError


def claim_folders(args: argparse.Namespace) -> list[IO[str]]:
    """Make the folders of --save and --log-dir, try to write there, and keep other runs out.

    The locks last while the returned files are open, so a run that is killed leaves none behind.

    Raises:
        UserError: a folder cannot be written to, or another run writes there.
    """
    claimed: dict[Path, IO[str]] = {}
    for flag, folder in (("--save", args.save), ("--log-dir", args.log_dir)):
        if folder is not None and Path(folder).resolve() not in claimed:
            claimed[Path(folder).resolve()] = _claim(Path(folder), flag)
    return list(claimed.values())


def _claim(folder: Path, flag: str) -> IO[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "a+", encoding="utf-8")  # noqa: SIM115  open as long as the run goes on
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            raise UserError(
                f"{flag} {folder} is in use by {holder}: wait for its end, or choose another folder"
            ) from None
        except OSError:
            pass  # a file system without locks
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        os.fsync(lock.fileno())
    except OSError as error:
        raise UserError(f"{flag} {folder} cannot be written: {error.strerror or error}") from error
    return lock
