"""JUnit XML, which most CI systems show: a test suite for each file, a failed test for each finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree

from ...files.discovery import FileSet
from ...finding import Finding, Result
from ...language import local
from .terms import NAME, text_of


def lines(result: Result, files: FileSet) -> Iterator[str]:
    """The document; a clean run is one test that passed."""
    found = result.findings
    counts = {"tests": str(len(found) or 1), "failures": str(len(found)), "errors": "0"}
    root = ElementTree.Element("testsuites", {"name": NAME, **counts})
    for path, group in groupby(found, key=lambda finding: finding.place.path):
        own = list(group)
        count = str(len(own))
        suite = ElementTree.SubElement(
            root, "testsuite", name=_plain(path), tests=count, failures=count, errors="0"
        )
        for finding in own:
            _case(suite, finding)
    if not found:
        suite = ElementTree.SubElement(root, "testsuite", name=NAME, tests="1", failures="0", errors="0")
        ElementTree.SubElement(suite, "testcase", name=NAME, classname=NAME)
    ElementTree.indent(root)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield ElementTree.tostring(root, "unicode")


def _case(suite: ElementTree.Element, finding: Finding) -> None:
    place = finding.place
    name = f"{finding.code} {finding.symbol} {place.line}:{place.column + 1}"
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=_plain(place.path))
    failure = ElementTree.SubElement(
        case, "failure", type=finding.code, message=_plain(local(finding.message))
    )
    steps = [f"{step.path}:{step.line}: {local(step.text)}" for step in finding.evidence]
    failure.text = _plain(
        "\n".join((f"{place.path}:{place.line}:{place.column + 1}: {text_of(finding)}", *steps))
    )


_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _plain(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("?", text)
