"""What an output holds, and whether that is what it has to hold."""

import json
import re

MARK = re.compile(r"^mark-[0-9a-f]{8}-\d{6}\.$", re.MULTILINE)
OK = re.compile(r"^ok$", re.MULTILINE)


def marks_of(path):
    """Return the marks that stand in an output, in their order, and how often `ok` was said."""
    content = path.read_text()
    assert "\0" not in content, path
    return _markdown(content) if path.suffix == ".md" else _jsonl(content)


def _markdown(content):
    return MARK.findall(content), len(OK.findall(content))


def _jsonl(content):
    marks, ids, spoken = [], [], 0
    for line in content.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            assert "note-" in line, f"a torn line that no person wrote behind: {line[:200]}"
            continue
        ids.append(event["id"])
        text = _text(event["payload"])
        spoken += text == "ok"
        marks += re.findall(r"mark-[0-9a-f]{8}-\d{6}\.$", text)
    assert len(ids) == len(set(ids))
    return marks, spoken


def _text(payload):
    """Return the text of a message or a result, or the command of a call."""
    given = payload.get("input")
    command = given.get("cmd") or given.get("command") if isinstance(given, dict) else None
    return payload.get("text") or command or ""


def difference(wanted, found):
    """Return the first difference of two lists of marks in words, an empty text if there is none."""
    if wanted == found:
        return ""
    twice = sorted({mark for mark in found if found.count(mark) > 1}) if len(found) != len(set(found)) else []
    lost = sorted(set(wanted) - set(found))
    strange = sorted(set(found) - set(wanted))
    return f"twice: {twice[:5]}, lost: {lost[:5]}, strange: {strange[:5]}, {len(found)} of {len(wanted)}"
