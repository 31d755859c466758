"""Who failed first, who failed for the same reason, and who only followed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .kinds import BY_NAME, INTERRUPTED, KILLED, LOSS, NONE, Kind, kind_of
from .record import Call, Failure, Log, Note, Wait

_WENT_ON = 4  # reports of progress after a failure that show that it stopped nothing
_SILENT = ("silent", "heartbeat", "desync", "hang-guess", "dump")
_ENTER = {
    "recv_forward": "recv_forward", "recv_backward": "recv_backward", "send_forward": "send_forward",
    "send_backward": "send_backward", "all_reduce": "all_reduce", "broadcast": "broadcast", "barrier": "barrier",
    "all_gather_into_tensor": "all_gather", "all_gather": "all_gather", "reduce_scatter_tensor": "reduce_scatter",
    "_communicate": "send or receive", "all_gather_object": "all_gather_object", "all_to_all_single": "all_to_all",
    "send_forward_recv_backward": "send_forward_recv_backward", "monitored_barrier": "barrier", "reduce": "reduce",
    "send_backward_recv_forward": "send_backward_recv_forward", "recv": "recv", "send": "send", "gather": "gather",
    "broadcast_object_list": "broadcast", "_reduce_scatter_base": "reduce_scatter", "scatter": "scatter",
    "init_process_group": "init_process_group", "new_group": "new_group", "batch_isend_irecv": "send or receive",
}  # fmt: skip


@dataclass(frozen=True)
class Follower:
    """A rank that failed because another one was gone, or waited. `where` is the collective or transfer it was in."""

    rank: int | None
    line: int
    where: str
    what: str


@dataclass
class Story:
    """What happened. `root` is the first failure that is nobody else's fault; None for a wait, a kill or nothing."""

    kind: Kind
    root: Failure | None = None
    note: Note | None = None
    ranks: list[int | None] = field(default_factory=list)  # of the root and those alike
    followers: list[Follower] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)  # ranks that never came to what the others wait for
    calls: dict[int, Call] = field(default_factory=dict)  # the last call of each rank, from flight recorders
    recovered: list[Failure] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)  # those whose frames tell of the cause
    sure: bool = True  # whether the log shows which rank was first


def story_of(log: Log) -> Story:
    """Read the story out of a log."""
    log.failures.sort(key=lambda failure: failure.line)
    kinds = {id(failure): kind_of(failure) for failure in log.failures}
    last = len(log.failures) > 0 and (log.exits or log.cut or not log.progress)
    stopped: list[Failure] = []
    recovered: list[Failure] = []
    for failure in log.failures:
        went_on = log.progress - failure.progress >= _WENT_ON and not (last and failure is log.failures[-1])
        (recovered if went_on and not _ended(failure, log) else stopped).append(failure)
    own = [failure for failure in stopped if not kinds[id(failure)].follows]
    crashes = [failure for failure in own if kinds[id(failure)].name != "timed-out"]
    made = _crash(crashes, log, kinds) or _named(log, stopped) or _hang(log, own) or _lost(log, stopped)
    made = made or Story(NONE)
    made.recovered = recovered
    _follow(made, stopped, kinds, log)
    return made


def _ended(failure: Failure, log: Log) -> bool:
    return any(ended.rank == failure.rank and ended.code != 0 for ended in log.exits)


def _crash(crashes: list[Failure], log: Log, kinds: dict[int, Kind]) -> Story | None:
    if not crashes:
        return None
    first = _first(crashes, log)
    root = first
    while root.before is not None and kind_of(root).name in ("other", "configuration") and root.before.frames:
        root = root.before  # what was raised first says more than what it was wrapped in
    kind = kind_of(root)
    alike = [f for f in crashes if kinds[id(f)] is kinds[id(first)] and f.type == first.type]
    made = Story(kind, root)
    made.ranks = list(dict.fromkeys(f.rank for f in [first, *alike]))
    made.failures = [root, *([first] if first is not root else []), *(f for f in alike if f is not first)]
    made.sure = not (len(log.names) > 1 and len(made.ranks) < len({f.rank for f in crashes}))
    return made


def _first(crashes: list[Failure], log: Log) -> Failure:
    """The earliest: by the clock where every line has one, by the launcher's word in separate files, else by line."""
    if len(log.names) > 1:
        named = {ended.rank for ended in log.exits if ended.first}
        told = [failure for failure in crashes if failure.rank in named]
        crashes = told or crashes
    if all(failure.time for failure in crashes):
        return min(crashes, key=lambda failure: (failure.time, failure.line))
    return min(crashes, key=lambda failure: failure.line)


def _named(log: Log, stopped: list[Failure]) -> Story | None:
    """What single lines say: one GPU for two ranks, a port in use, no memory, a kill, a loss that is no number."""
    found = {note.what: note for note in reversed(log.notes)}
    for what, name in (
        ("duplicate-gpu", "duplicate-gpu"), ("port", "port-in-use"), ("memory", "out-of-memory"),
        ("assert", "index-out-of-range"),
    ):  # fmt: skip
        if what in found:
            return Story(BY_NAME[name], note=found[what], ranks=[found[what].rank])
    dead = [ended for ended in log.exits if ended.code in (-9, 137, -11, 139, -6, 134, -7)]
    hung = log.waits or found.keys() & {"dump", "heartbeat", "desync"}
    if dead and not any(kind_of(failure).name == "timed-out" for failure in stopped) and not hung:
        first = next((ended for ended in dead if ended.first), dead[0])
        note = Note(first.rank, first.line, "killed", f"exit code {first.code}", first.time)
        return Story(KILLED, note=note, ranks=[first.rank])
    if "killed" in found or "segfault" in found:
        note = found.get("killed") or found["segfault"]
        return Story(KILLED, note=note, ranks=[note.rank])
    if "loss" in found:
        ranks = list(dict.fromkeys(note.rank for note in log.notes if note.what == "loss"))
        return Story(LOSS, note=found["loss"], ranks=list(ranks))
    return None


def _hang(log: Log, own: list[Failure]) -> Story | None:
    silent = [note for note in log.notes if note.what in _SILENT]
    own = own + log.stacks
    if not (own or log.waits or log.calls or silent):
        return None
    made = Story(BY_NAME["timed-out"], waits=log.waits)
    made.failures = own
    made.root = own[0] if own else None
    made.note = silent[0] if silent and not own else None
    for call in log.calls:
        if call.rank not in made.calls or call.number >= made.calls[call.rank].number:
            made.calls[call.rank] = call
    for call in made.calls.values():
        if call.frames:
            frames = list(reversed(call.frames))
            made.failures.append(Failure(call.rank, 0, 0, "", "Stack", call.operation, frames))
    made.behind = _behind(log, own, silent)
    first = [f.rank for f in own[:1]] or [w.rank for w in log.waits[:1]] or [note.rank for note in silent[:1]]
    made.ranks = list(made.behind) or list(first)
    made.sure = bool(made.behind)
    if log.calls and not (own or log.waits or silent) and not made.behind:
        return None
    return made


def _behind(log: Log, own: list[Failure], silent: list[Note]) -> list[int]:
    """Ranks that did not come to the collective in which the others waited."""
    spoken = [note.rank for note in silent if note.what == "silent" and note.rank is not None]
    if spoken:
        return list(dict.fromkeys(spoken))
    groups = {call.group for call in log.calls}
    for group in sorted(groups):
        late = _late({c.rank: c for c in log.calls if c.group == group})
        if late:
            return late
    waiting = {wait.rank: wait for wait in log.waits if wait.rank is not None}
    if waiting:
        return _not_there(waiting, log)
    heard = {failure.rank for failure in own if failure.rank is not None}
    known = set(range(log.world)) if log.world else log.ranks
    return sorted(known - heard) if heard and len(known - heard) < len(known) else []


def _not_there(waiting: dict[int, Wait], log: Log) -> list[int]:
    """Ranks whose watchdog speaks of an earlier or another call than that of most, and ranks whose watchdog is silent.

    Numbers count within a group, so they are compared only where the log does not name different groups.
    """
    odd: list[int] = []
    if len({wait.group for wait in waiting.values() if wait.group}) <= 1:
        common = Counter((w.operation, w.number) for w in waiting.values()).most_common(1)[0][0]
        others = {rank: w for rank, w in waiting.items() if (w.operation, w.number) != common and w.operation}
        odd = [
            rank
            for rank, w in others.items()
            if (w.number or 0) <= (common[1] or 0) or w.operation != common[0]
        ]
        if len(others) == len(waiting) - 1 and others:
            least = min(waiting.values(), key=lambda w: w.number or 0)
            odd = [least.rank] if least.rank is not None else []
    known = set(range(log.world)) if log.world is not None else log.ranks
    return [*odd, *sorted(known - set(waiting))]


def _late(last: dict[int, Call]) -> list[int]:
    """Ranks whose last call in a group is an earlier one than the others', or another one of the same number."""
    if len(last) < 2:
        return []
    most = max(call.number for call in last.values())
    late = [rank for rank, call in last.items() if call.number < most]
    if late:
        return sorted(late)
    common = Counter((call.operation, call.sizes) for call in last.values()).most_common(1)[0]
    if common[1] == len(last):
        return []
    return sorted(rank for rank, call in last.items() if (call.operation, call.sizes) != common[0])


def _lost(log: Log, stopped: list[Failure]) -> Story | None:
    """Only ranks that lost another one: the one that failed is not in this log."""
    gone = [note for note in log.notes if note.what in ("gloo", "store", "nccl")]
    if not stopped and not gone and not any(ended.code for ended in log.exits):
        return None
    kind = BY_NAME["peer-lost"]
    ended = [failure for failure in stopped if failure.type in ("SignalException", "KeyboardInterrupt")]
    if ended and len(ended) == len(stopped) and not gone:
        return Story(INTERRUPTED, root=ended[0], ranks=[ended[0].rank], failures=ended)
    if not stopped and gone and all(note.what == "nccl" for note in gone):
        kind = BY_NAME["nccl-failed"]
        if not any(ended.code for ended in log.exits):
            return None  # warnings alone stop nothing
    heard = {failure.rank for failure in stopped}
    first = next((e for e in log.exits if e.first and e.rank not in heard), None)
    made = Story(kind, note=gone[0] if gone else None, sure=False)
    if first is not None:
        made.ranks = [first.rank]
        made.note = Note(first.rank, first.line, "exit", f"exit code {first.code}", first.time)
    made.failures = stopped
    return made


def _follow(made: Story, stopped: list[Failure], kinds: dict[int, Kind], log: Log) -> None:
    told = {id(failure) for failure in made.failures} if made.kind.name != "peer-lost" else set()
    seen: set[int | None] = set(made.ranks)
    for failure in stopped:
        is_follower = kinds[id(failure)].follows or kinds[id(failure)].name == "timed-out"
        if (id(failure) in told and kinds[id(failure)].name != "timed-out") or not is_follower:
            continue
        if failure.rank is None or failure.rank in seen:
            continue
        seen.add(failure.rank)
        made.followers.append(
            Follower(failure.rank, failure.line, place_of(failure), failure.text.split("\n")[0][:160])
        )
    for wait in made.waits:
        if wait.rank not in seen and wait.rank is not None:
            seen.add(wait.rank)
            text = f"{wait.operation} {wait.number}"
            made.followers.append(Follower(wait.rank, wait.line, wait.operation.lower(), text))


def place_of(failure: Failure) -> str:
    """The collective or transfer in which a rank was."""
    for frame in failure.frames:
        if frame.function in _ENTER:
            return _ENTER[frame.function]
    return ""
