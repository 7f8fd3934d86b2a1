"""The lines of katod's own between the messages of a Markdown transcript, in the exact forms in which it prints them.

A message has none of the marks, footers, times and answers: `formats.text.ownlines` disarms what reads like one, and
only what it would disarm is taken for one. A message may have a line that reads like a note, or like the footer of a
turn without tools, which is read as words. Pure.
"""

import re
from typing import Final

from katod.formats.text.ownlines import MARKS, poses

_NUMBER: Final = "[0-9][0-9,]*"  # other digits may be a message's
_STAMP: Final = "(?:[0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}"
_REFUSED: Final = "refused"  # the one mark that goes on with words
_USED: Final = rf"(?: · {_NUMBER} tokens)?(?: · \$[0-9]+\.[0-9]+)?"
_MARK: Final = "|".join(re.escape(mark) for kind, mark in MARKS.items() if kind != _REFUSED)
_TOOLS: Final = rf"{_NUMBER} tools?"
_FILES: Final = rf"{_NUMBER} files?(?: \(\+[0-9]+ −[0-9]+\))?"  # noqa: RUF001 - the minus sign is meant
_LASTED: Final = "(?:[0-9]+ s|[0-9]+ min|[0-9]+ h(?: [0-9]+ min)?)"
_COUNTS: Final = rf"(?: · {_NUMBER} commits?)?(?: · {_LASTED})?(?: · {_NUMBER} tokens)?"
_WORDS: Final = r"(?:\\.|[^*\\\n])++"  # of others: an asterisk in them is escaped
_MARK_LINE: Final = (
    rf"\*(?:(?:{_MARK})(?: {_STAMP})?{_USED}|{re.escape(MARKS[_REFUSED])}{_WORDS}|{_STAMP}"
    rf"|{_TOOLS}(?: · {_FILES})?{_COUNTS})\*$"
)
_NOTE_LINE: Final = (
    rf"\*(?:(?:Error|Model|Title): {_WORDS}|Interrupted|Plan accepted"
    rf"|Context compacted(?:(?: from|:) {_NUMBER}(?: → {_NUMBER})? tokens)?"
    rf"|Conversation (?:rewound|cleared: a new session begins)|Messages taken back"
    rf"|{_NUMBER} turns? rolled back)\*$"
)
_LONGEST: Final = 990  # characters up to the end of a key: of a line, `poses` looks at little more
_KEY: Final = r"(?:\\.|[^*\\\n])+"
_ANSWER_LINE: Final = rf"\*\*You(?: \({_KEY}\))?:\*\*(?: [^\n]*)?$"
# What may be a line of katod's, behind a blank one.
OWN_LINE: Final = rf"(?<=\n\n)(?:{_MARK_LINE}|{_NOTE_LINE}|{_ANSWER_LINE})"
_PRINTED: Final = re.compile(
    rf"(?P<mark>{_MARK_LINE})|(?P<note>{_NOTE_LINE})|\*\*You(?: \((?P<key>{_KEY})\))?:\*\*(?: (?P<answer>[^\n]*))?$",
    re.MULTILINE,
)
# A line that is emphasised as a whole: above the first heading, so katod prints what the agent notes, in any words.
NOTED: Final = re.compile(rf"\*(?![*\s]){_WORDS}(?<!\s)\*")


def own_line(text: str) -> re.Match[str] | None:
    """Return the line of katod's own with which a text begins, None if there is none.

    It is a `mark`, a `note`, or an `answer` with its `key`; an answer that a message may have is none.
    """
    found = _PRINTED.match(text)
    if found is None or found["mark"] or found["note"]:
        return found
    said = found[0].replace("&lt;", "<")  # in a message, it may have been either
    is_own = found.end("key") < _LONGEST and poses(said) and (said == found[0] or poses(found[0]))
    return found if is_own else None
