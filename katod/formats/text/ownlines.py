"""The lines that only katod prints, and whether a line of a message would be shown like one of them. Pure."""

import re
from html import unescape
from typing import Final

# The marks, printed in italics, with which katod says what happened to a recording.
MARKS: Final = {
    "started": "Recording started",
    "refused": "katod chose this file:",
    "stopped": "Recording stopped",
    "paused": "Recording paused",
    "resumed": "Recording resumed",
    "excluded": "Recording ended: this project is excluded",
    "edited": "This file was changed by hand; the recording continues below",
    "continued": "The earlier file is gone; the recording continues here",
    "restored": "Missing from this file and added again",
    "gap": "A part of the conversation is missing here",
    "unfinished": "Kept before the answer was complete",
    "rescued": "Rescued from deletion",
}
# What katod's own lines about tools, and its collapsed blocks, begin with.
SIGN: Final = "▸"
UNSEEN: Final = "\\u00ad\\u200b-\\u200f\\u2060-\\u2064\\ufeff"  # characters without width
# How a line begins that may be shown like one of katod's: for a quick search in a whole text. Tags are found otherwise.
EMPHASIS: Final = (
    rf"^[ \t]*+(?:[*_](?:(?:[*_]{{2,}}+)?+[AaKkMmRrTtYy0-9&\\\[{UNSEEN}]|[*_][Yy&\\\[{UNSEEN}])"
    rf"|&|!?\[|[{UNSEEN}\u00a0])"
)

_LONGEST: Final = 1000  # characters that are looked at
_LEAD: Final = re.compile(r"(?:[*_\s]|<[^<>\n]*+>)++")
_TAG: Final = re.compile(r"<(?P<bold>(?:b|strong)\b)?(?P<italic>(?:em|i)\b)?[^<>\n]*+>", re.IGNORECASE)
_BOLD: Final = re.compile(r"[*_]{2}")
_ITALIC: Final = re.compile(r"(?<![*_])[*_](?:[*_]{2,})?(?![*_])")
_EMPHATIC: Final = re.compile(r"[*_]|<[^<>\n]*+>")
# Entities of what would be markup; no characters of others' words are in the private area.
_LITERAL: Final = re.compile(
    r"&(?:lt|gt|ast|lowbar|lsqb|\#0*+(?:42|60|62|91|95)(?![0-9])|\#x0*+(?:2a|3c|3e|5b|5f)(?![0-9a-f]));?+",
    re.IGNORECASE,
)
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_WRITTEN: Final = re.compile(rf"(?:[*_\s!{UNSEEN}]|\[(?:\]\([^)\s]*+\))?+|&\w++;|&#\w++;|<[^<>\n]*+>)++")
_HIDDEN: Final = re.compile(rf"[{UNSEEN}]|!?\[(?=[^\]]*+\]\()|\]\([^)\s]*+\)")  # also of links, all but their words
_SAID: Final = re.compile(rf"(?:{'|'.join(MARKS.values())}|[0-9,]+ tools?(?![^\W_]))", re.IGNORECASE)
_TIME: Final = re.compile(r"(?:[0-9-]{10} )?[0-9]{2}:[0-9]{2}(?:[*_<]|$)")
_ANSWER: Final = re.compile(r"You(?: \(.*?\))?:", re.IGNORECASE)
# A line end is shown as a blank, so what the emphasis is about may go on in the next line.
_BEGINNINGS: Final = frozenset(
    mark[:at].lower() for mark in MARKS.values() for at, sign in enumerate(mark) if sign == " "
)
_SAID_SO_FAR: Final = re.compile(r"[0-9,]+|[0-9-]{10}")
_ANSWER_SO_FAR: Final = re.compile(r"You(?: \(.*)?", re.IGNORECASE)


def poses(line: str, at: int = 0) -> bool:
    """Return whether a line, from a place on, is shown like a mark, a footer, a time or an answer of katod's.

    It may be Markdown or HTML, spell characters, emphasis and blanks in any way, and be completed by the next line.
    """
    line = line[at : at + _LONGEST]
    shown = _HIDDEN.sub("", unescape(_LITERAL.sub("\ue000", line)) if "&" in line else line)
    lead = _LEAD.match(shown)
    if lead is None:
        return False
    marks = _TAG.sub(_named_mark, lead[0])
    bold, italic = _BOLD.search(marks), _ITALIC.search(marks)
    if not (bold or italic):
        return False
    spelled = " ".join(_ESCAPE.sub(r"\1", shown[lead.end() :]).split()).removesuffix("\\")
    words = " ".join(_EMPHATIC.sub("", spelled).split())
    goes_on = not spelled.endswith(("*", "_", ">"))
    if not words:
        return lead.end() < len(shown)  # a backslash at the line's end: what is emphasised comes in the next line
    return bool((bold and _is_answer(words, goes_on)) or (italic and _is_said(spelled, words, goes_on)))


def _named_mark(tag: re.Match[str]) -> str:
    """Return what a tag would be in Markdown."""
    return " ** " if tag["bold"] else " * " if tag["italic"] else " "


def _is_answer(words: str, goes_on: bool) -> bool:
    return bool(_ANSWER.match(words) or (goes_on and _ANSWER_SO_FAR.fullmatch(words)))


def _is_said(spelled: str, words: str, goes_on: bool) -> bool:
    """Return whether words, with the emphasis in them or without it, are those of a mark, a footer or a time."""
    if _SAID.match(words) or _TIME.match(spelled):
        return True
    return goes_on and (words.lower() in _BEGINNINGS or _SAID_SO_FAR.fullmatch(words) is not None)


def literal(line: str) -> str:
    """Return a line that poses with the emphasis at its beginning as it is written."""
    lead = _WRITTEN.match(line)
    end = lead.end() if lead else 0
    return re.sub(r"([*_\[])", r"\\\1", line[:end]) + line[end:]
