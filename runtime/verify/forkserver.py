"""A process that has imported torch and never run it, to fork from.

Threads do not survive a fork: where torch has computed already (in a run of tests, in a notebook), a forked process can
wait for ever on a pool that it lacks. Such a caller has its work done in a fork of this server, which lives as long as
the caller does. The standard library's own server would run the caller's main module again.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from ..errors import UserError
from .processes import die_with

_server: subprocess.Popen | None = None
_one_at_a_time = threading.Lock()


def call(function: Callable[..., Any], *arguments: object) -> Any:
    """What the function returns, or raises, in a fresh fork; everything it takes and gives is picklable."""
    with _one_at_a_time:
        is_value, value = _ask((os.getcwd(), list(sys.path), dict(os.environ)), function, arguments)
    if is_value:
        return value
    raise value


def _ask(*request: object) -> tuple[bool, Any]:
    global _server
    if _server is None or _server.poll() is not None:
        command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
        path = os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))
        environment = os.environ | {"PYTHONPATH": path}
        _server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    try:
        pickle.dump(request, _server.stdin)
        _server.stdin.flush()
        return pickle.load(_server.stdout)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError, KeyboardInterrupt):
        _server.kill()
        _server.wait()
        raise


def serve() -> None:
    """Answer one request after the other, until the caller closes its end."""
    from .api import preload

    die_with(os.getppid())
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed on the way is no answer
    missing = None
    try:
        preload()
    except UserError as error:
        missing = error
    while requests.peek(1):
        request = pickle.load(requests)
        if missing is not None:
            _send(answers, (False, missing))
            continue
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            die_with(server)
            _answer(request, answers)
        _, status = os.waitpid(pid, 0)
        if status:
            reason = RuntimeError(f"the process of the verification ended with status {status}")
            _send(answers, (False, reason))


def _answer(request: tuple, answers: Any) -> None:
    """Do what was asked for in this fork, which ends with it."""
    status = 1
    try:
        (folder, path, environment), function, arguments = request
        os.chdir(folder)
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)
        try:
            answer = (True, function(*arguments))
        except Exception as error:
            answer = (False, error)
        _send(answers, answer)
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def _send(answers: Any, answer: tuple[bool, Any]) -> None:
    answers.write(pickle.dumps(answer))  # whole or not at all: what cannot be pickled leaves nothing behind
    answers.flush()
