"""Reads the marks of an output and compares them with the expected ones."""

import json
import re

from tests.support.reading import lines

MARK = re.compile(r"^mark-[0-9a-f]{8}-\d{6}\.$", re.MULTILINE)
LAST = re.compile(r"mark-[0-9a-f]{8}-\d{6}\.$")
NOTE = re.compile(r"^note-[\w-]+\.\n", re.MULTILINE)
# A heading with a mark that comes again: the message below the first one is torn.
TORN = re.compile(r"^(## .*mark-[0-9a-f]{8}-\d{6}\.\n)(?=(?s:.*)^\1)", re.MULTILINE)
OK = re.compile(r"^ok$", re.MULTILINE)


def marks_of(path, *, edited=False):
    """Return the marks of an output in order, and the number of `ok` messages.

    A torn line, or a torn message below its heading, may remain only where a person wrote after a torn append; what is
    complete follows.
    """
    content = path.read_bytes().decode(errors="replace" if edited else "strict")
    assert "\0" not in content, path
    if path.suffix == ".md":
        content = NOTE.sub("", content)  # a note may separate a heading from its message
        content = "\n".join(lines(TORN.sub("", content) if edited else content))
        return MARK.findall(content), len(OK.findall(content))
    events = []
    for line in content.split("\n")[:-1]:
        try:
            events.append(json.loads(line))
        except ValueError:
            assert edited, f"{path}: a torn line: {line[:200]}"
    texts = [_text(event["payload"]) for event in events]
    return [mark for text in texts for mark in LAST.findall(text.rstrip())], texts.count("ok")


def _text(payload):
    """Return the text of a message or result, or the command of a call."""
    given = payload.get("input")
    command = given.get("cmd") or given.get("command") if isinstance(given, dict) else None
    return payload.get("text") or command or ""


def difference(wanted, found):
    """Return a description of the differences between two lists of marks, empty if they are equal."""
    if wanted == found:
        return ""
    twice = sorted({mark for mark in found if found.count(mark) > 1}) if len(found) != len(set(found)) else []
    lost = sorted(set(wanted) - set(found))
    strange = sorted(set(found) - set(wanted))
    at = next((n for n, pair in enumerate(zip(wanted, found, strict=False)) if pair[0] != pair[1]), 0)
    there = f"from {at} on {found[at : at + 4]}, not {wanted[at : at + 4]}"
    return f"twice: {twice[:5]}, lost: {lost[:5]}, strange: {strange[:5]}, {len(found)} of {len(wanted)}, {there}"
