"""What names a conversation: the first words in it that say something. Pure."""

import re
from typing import Final

# Far more than a title shows: a secret that is cut here could no longer be recognised as one.
LONGEST_TITLE: Final = 400
# In typed text: pictures and files that a client inserts.
_MARKUP: Final = re.compile(r"!\[[^\]]*\]\([^)\s]*\)|\[(?:Image|Pasted text) #?[0-9]+[^\]]*\]|(?<![\w/])@(?=[\w./~-])")
_ITEM: Final = re.compile(r"\A(?:[-*+•]|[0-9]{1,3}[.)])\s+")
# An element that a program put around or before the words: a name with its closing tag.
_ELEMENT: Final = re.compile(r"\s*<([a-z][\w-]{0,60})(?:\s[^<>]{0,400})?>.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_PLACE: Final = re.compile(r"(?:\w+:)?//\S+|(?:~|\.{1,2}|[a-z]:)?[/\\]\S*|[\w.-]+(?:[/\\][\w.-]+)+", re.IGNORECASE)
_PLAN: Final = re.compile(r"(?:please )?implement (?:the|this) (?:following )?plan\W*", re.IGNORECASE)
# What a client has another agent review before it permits a call: the conversation so far, whose first prompt is in it.
_REVIEW: Final = "The following is the Codex agent history"
_REVIEWED: Final = re.compile(
    r"The following is the Codex agent history[^\n]*\n+>>> TRANSCRIPT START\n+\[[0-9]+\] user: ([^\n]*)"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_COMMAND: Final = "::"
_WRITTEN_BREAK: Final = "\\n"
_ESCAPED: Final = re.compile(r"\s*<[a-z][\w-]{0,60}>\\n")  # an element that a program sent with its line breaks escaped
# A line of nothing but these answers or pushes on, whatever the conversation is about.
_IDLE: Final = frozenset({
    "again", "ahead", "and", "commit", "continue", "do", "done", "fine", "go", "good", "great", "it", "next",
    "no", "nope", "now", "ok", "okay", "on", "please", "proceed", "push", "resume", "retry", "start", "sure", "thank",
    "thanks", "that", "then", "this", "try", "warmup", "yeah", "yep", "yes", "you",
})  # fmt: skip


def title_of(text: str, longest: int = LONGEST_TITLE) -> str:
    """Return the first line of what a person typed that says something, cut at a word; empty if none does.

    No line says anything that is a command or resembles one, a bare address or path, a tag, or consists of words such
    as "yes" and "commit". What a program wrote around the words counts only if there are no others, and the heading of
    a plan instead of the request to carry it out. A conversation that is reviewed is called by its first prompt.
    """
    if "\n" not in text and _WRITTEN_BREAK in text and _ESCAPED.match(text):
        text = text.replace(_WRITTEN_BREAK, "\n")
    if reviewed := reviewed_in(text):
        return cut_at_word(f"Review: {reviewed}", longest)
    begin = 0
    while around := _ELEMENT.match(text, begin):
        begin = around.end()
    return cut_at_word((_saying(text[begin:]) if begin else "") or _saying(text), longest)


def reviewed_in(text: str) -> str:
    """Return the first prompt of the conversation that a text gives to a reviewer, empty if it gives none."""
    found = _REVIEWED.match(text) if text.startswith(_REVIEW) else None
    return _plain(found[1]) if found else ""


def first_words(text: str, longest: int) -> str:
    """Return the first line of what a person typed, without markers of images and files, cut at a word."""
    line = next((line for line in map(_plain, text.split("\n")) if line), "")
    return cut_at_word(line, longest)


def heading_of(text: str, longest: int) -> str:
    """Return the heading of a message; one that is only markup has that as its heading."""
    return first_words(text, longest) or cut_at_word(" ".join(text.split()), longest)


def cut_at_word(line: str, longest: int) -> str:
    """Return a line, cut after a word with an ellipsis if it is longer; a word that is too long alone is cut.

    With the ellipsis, it has at most `longest` characters.
    """
    if len(line) <= longest:
        return line
    head = line[:longest]
    words = head[: head.rfind(" ", longest // 3) + 1] or head[:-1]
    return f"{words.rstrip(' ,;:.-')}…"


def _plain(line: str) -> str:
    return " ".join(_MARKUP.sub("", line).strip().lstrip("#>").rstrip("\\").split())


def _saying(text: str) -> str:
    """Return the first line that says something, without what makes it an item of a list."""
    lines = (_ITEM.sub("", _plain(line), 1) for line in text.split("\n"))
    return next((line for line in lines if _says_something(line)), "")


def _says_something(line: str) -> bool:
    if line.startswith(_COMMAND) or any(form.fullmatch(line) for form in (_PLACE, _TAG, _PLAN)):
        return False
    words = _WORD.findall(line.casefold())
    return any(word not in _IDLE and (len(word) > 1 or not word.isascii()) for word in words)
