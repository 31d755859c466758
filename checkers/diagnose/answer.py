"""A diagnosis as plain data in one language: what the text shows and JSON prints."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..language import local
from .candidate import Cause
from .diagnosis import Diagnosis
from .record import Failure
from .words import of_kind, said, say
from .words_kinds import WORDS

_MOST_FOLLOWERS = 16
_MOST_REASONS = 5


def answer(made: Diagnosis, language: str) -> dict[str, Any]:
    """Everything that is said, in the order in which it is shown."""
    story, name = made.story, made.story.kind.name
    found: dict[str, Any] = {
        "log": {
            "names": made.log.names,
            "lines": made.log.lines,
            "bytes": made.log.bytes,
            "ranks": sorted(made.log.ranks),
            "warnings": len([note for note in made.log.notes if note.what in ("nccl", "gloo")]),
        },
        "kind": name,
        "title": of_kind(name, "title", language),
        "notes": list(_notes(made, language)),
    }
    if name == "none-seen":
        return found
    found |= {
        "first": _first(made),
        "story": list(_story(made, language)),
        "followers": [
            {"rank": f.rank, "log_line": f.line, "where": f.where, "message": f.what}
            for f in story.followers[:_MOST_FOLLOWERS]
        ],
        "behind": story.behind,
        "causes": [_cause(cause, number, made, language) for number, cause in enumerate(made.causes)],
        "explained": any(cause.findings for cause in made.causes[:1]),
        "must_be_true": of_kind(name, "test", language),
        "fix": of_kind(name, "fix", language),
        "reference": WORDS[name].reference,
        "verify": verify_command(made),
    }
    return found


def _first(made: Diagnosis) -> dict[str, Any]:
    root, note, story = made.story.root, made.story.note, made.story
    line = root.line if root is not None else note.line if note is not None else 0
    text = root.text if root is not None else note.text if note is not None else ""
    time = root.time if root is not None else note.time if note is not None else ""
    if not line and story.waits:
        line, text = story.waits[0].line, f"{story.waits[0].operation} {story.waits[0].number}"
    rank = story.ranks[0] if story.ranks else None
    return {"rank": rank, "ranks": [rank for rank in story.ranks if rank is not None], "log_line": line,
            "time": time, "message": text[:2000], "sure": story.sure}  # fmt: skip


def _cause(cause: Cause, number: int, made: Diagnosis, language: str) -> dict[str, Any]:
    told = [finding for earlier in made.causes[:number] for finding in earlier.findings]
    finding = next((finding for finding in cause.findings if finding not in told), None)
    edits = [edit.place for edit in finding.fix.edits] if finding is not None and finding.fix else []
    return {
        "path": os.path.relpath(cause.path) if os.path.isabs(cause.path) else cause.path,
        "line": cause.line,
        "end_line": max(cause.end, cause.line),
        "code": cause.code,
        "weight": round(cause.weight, 1),
        "reasons": [said(why, language) for why in cause.reasons[:_MOST_REASONS]],
        "symbol": finding.symbol if finding is not None else "",
        "id": finding.code if finding is not None else "",
        "message": local(finding.message) if finding is not None else "",
        "fix": local(finding.advice) if finding is not None else "",
        "edit_lines": sorted({f"{place.path}:{place.line}" for place in edits}),
    }


def _notes(made: Diagnosis, language: str) -> Iterator[str]:
    """What limits the answer: what could not be read, what has changed, what the log does not say."""
    log, story = made.log, made.story
    for problem in dict.fromkeys(log.problems):
        key, _, name = problem.partition(" ")
        yield say(key, language, name=name) if name else say(key, language)
    if not log.bytes and not log.problems:
        yield say("empty", language)
    if log.cut and story.root is not None and story.root.cut:
        yield say("cut", language)
    if story.recovered:
        yield say("recovered", language, count=len(story.recovered))
    if story.kind.name == "none-seen":
        if log.notes:
            yield say("only-warnings", language)
        if log.progress:
            yield say("healthy-progress", language, count=log.progress)
        return
    if not story.sure and len(log.names) > 1:
        yield say("unsure", language)
    if not made.checked:
        yield say("unchecked", language)
    elif made.foreign:
        yield say("foreign", language)
    elif made.changed and len(made.changed) >= len([spot for spot in made.spots if spot.frame.code]):
        yield say("changed-all", language)
    elif made.changed:
        places = [f"{spot.frame.path}:{spot.frame.line}" for spot in made.changed]
        yield say("changed", language, places=", ".join(dict.fromkeys(places[:4])))


def _story(made: Diagnosis, language: str) -> Iterator[str]:
    story, first = made.story, _first(made)
    time = f", {first['time']}" if first["time"] else ""
    if first["log_line"] and not story.behind and story.kind.name != "interrupted":
        key = "first" if first["rank"] is not None else "first-unnamed"
        yield say(key, language, rank=first["rank"], line=first["log_line"], time=time)
    if len(first["ranks"]) > 1 and not story.behind:
        yield say("alike", language, ranks=spans(first["ranks"][1:]))
    if story.behind:
        yield say("behind", language, ranks=spans(story.behind))
    for rank, call in sorted(story.calls.items())[:_MOST_FOLLOWERS]:
        frame = next((f for f in call.frames if "site-packages" not in f.path), None)
        place = f", {frame.path}:{frame.line}" if frame is not None else ""
        yield say("last-call", language, rank=rank, operation=call.operation, number=call.number,
                  group=call.group, state=call.state, place=place)  # fmt: skip
    if story.kind.name == "timed-out" and story.root is not None:
        for failure in _each_rank(story.failures):
            yield say("waited", language, rank=failure.rank, where=made.where(failure))
    for follower in story.followers[:_MOST_FOLLOWERS]:
        if story.kind.name == "timed-out" and any(f.rank == follower.rank for f in story.failures):
            continue
        if follower.where:
            key = "waited" if story.waits else "lost"
            where = follower.what if story.waits and story.root is None else follower.where
            yield say(key, language, rank=follower.rank, where=where)
        else:
            yield say("followed", language, rank=follower.rank, what=follower.what)


def _each_rank(failures: list[Failure]) -> list[Failure]:
    seen: dict[int | None, Failure] = {}
    for failure in failures:
        seen.setdefault(failure.rank, failure)
    return [failure for rank, failure in seen.items() if rank is not None][:_MOST_FOLLOWERS]


def spans(ranks: list[int]) -> str:
    """`0-3, 6` for a list of ranks."""
    parts: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if parts and rank == parts[-1][-1] + 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 2 else ", ".join(map(str, p)) for p in parts)


def verify_command(made: Diagnosis) -> str:
    """The command that tests the answer: `verify` of the training script that the log or the project names."""
    named = [spot.source.path for spot in made.spots if spot.source.path in made.scripts]
    script = next(iter(named), None) or next(iter(made.scripts), None) or "TRAIN_SCRIPT.py"
    tensor, pipeline = (
        made.log.sizes.get("tensor", 2),
        made.log.sizes.get("pipeline", 2 if len(made.log.ranks) > 2 else 1),
    )
    numbers = " --numbers" if made.story.kind.name in ("loss-nan", "no-gradient", "checkpoint-load") else ""
    return f"onescience-check verify {_quoted(script)} --tp {tensor} --pp {pipeline}{numbers}"


def _quoted(path: str) -> str:
    shown = Path(path).as_posix()
    return f"'{shown}'" if re.search(r"[^\w./-]", shown) else shown
