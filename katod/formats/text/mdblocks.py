"""Parses one message line by line as a Markdown renderer would, so that nothing in it can pose as a speaker.

Headings move three levels down wherever they are; active HTML is shown as text; whatever a message leaves open is
closed at its end. Code is never changed. Pure.
"""

import re
from collections.abc import Mapping
from itertools import islice, takewhile
from typing import Final

from katod.formats.text.mdhtml import TAG, Tags
from katod.formats.text.mdlinks import SUSPECT, disarmed
from katod.formats.text.ownlines import EMPHASIS, SIGN, UNSEEN, literal, poses

_SIGNS: Final = re.compile(rf"{SIGN}|&(?:#0*+9656(?![0-9]);?+|#[xX]0*+25[bB]8(?![0-9A-Fa-f]);?+|rtrif;)")
_BLANKS: Final = " \t\r\f\v"
_STRUCTURE: Final = re.compile(
    rf"<|-[ \t]*+$|^[ \t>*+\-0-9.)]*+(?:#|```|~~~|\[|=++[ \t]*+$)|{_SIGNS.pattern}|{EMPHASIS}|{SUSPECT}",
    re.MULTILINE,
)
_HEADING: Final = re.compile(r"(#{1,6})(?=[ \t]|$)")
_UNDERLINE: Final = re.compile(r"(?:=+|-+)[ \t]*")
_RULE: Final = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})")
_FENCE: Final = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_ITEM: Final = re.compile(r"(?:[-*+]|([0-9]{1,9})[.)])(?= |$)")
_NUMBERED: Final = re.compile(r"[ \t>]*[0-9]{1,9}[.)](?=[ \t]|$)")
# A label may continue in the next line.
_DEFINITION: Final = re.compile(r"\[(?:[^\]\\]|\\.?+)++(?:\]:|$)")
_MARKERS: Final = re.compile(r"(?:[ \t]|>|(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]))*")
# How most lines begin: with words that cannot begin a block, or with a list item of such words.
_MARKUP: Final = re.compile(r"<|\]\(|^[ \t]*\*\*[Yy&\\]")  # tags, links, what may read like an answer
_WORDS: Final = re.compile(rf"[^\s#`~<*_+>=\[&{UNSEEN}0-9-]|\*\*(?=[^\W_])|`(?=[^`])")
_PLAIN_ITEM: Final = re.compile(rf"(?:[-*+]|([0-9]{{1,9}})[.)]) (?={_WORDS.pattern})")
_DEEPEST: Final = 100
_FAR: Final = 50  # lines that are searched for the beginning of a code span; behind more, one may have begun
_END_OF_FOLD: Final = "</details>"
_FLOWING: Final = ("paragraph", "table")  # of these a line may be the continuation
# This makes the line before it the head of a table.
_DELIMITER: Final = re.compile(r"^(?=[^\n]*-)[ \t>*+|:0-9.)-]++$", re.MULTILINE)

# Kinds of HTML blocks by how they begin: those that end with a tag, those that end at a blank line, all others.
_NAMES: Final = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul|source"
)
_PREFORMATTED: Final = re.compile(r"<pre(?=\s|>|$)", re.IGNORECASE)
_TO_BLANK: Final = re.compile(rf"</?(?:{_NAMES})(?=\s|/?>|$)", re.IGNORECASE)
_ALONE: Final = re.compile(rf"{TAG}\s*$", re.ASCII | re.IGNORECASE)


def neutral(text: str, *, hard: bool = False) -> str:
    """Return a message's text for use below the headings of the conversation, which have levels 1 to 3.

    With `hard` line ends, a line stays a line: two spaces at its end say so. Tags are text then.
    """
    if not (hard and "\n" in text) and not _STRUCTURE.search(text):
        return text
    may_have = {
        "hard": hard, "table": _DELIMITER.search(text) is not None, "definition": "]:" in text,
        "sign": _SIGNS.search(text) is not None,
    }  # fmt: skip
    tags = Tags(tables=may_have["table"], ends=text.count(">"), literal=hard) if "<" in text else None
    return _Blocks(tags, may_have).run(text)


class _Blocks:
    """Processes the lines of one message."""

    def __init__(self, tags: Tags | None, may_have: Mapping[str, bool]) -> None:
        self._tags = tags
        self._may_have = may_have  # a table, a definition (the target of a link), hard line ends
        self._out: list[str] = []
        self._containers: list[int] = []  # for a list item, the column of its content; for a quotation, 0
        self._leaf = ""  # "", "paragraph", "table" (or a paragraph that looks like one), "fence", "html" or "code"
        self._end = ""  # what ends a fence or a block of HTML; empty: a blank line
        self._reached = 0  # how many containers the previous line continued
        self._bare = False  # the innermost list item has no content yet

    def run(self, text: str) -> str:
        """Return the processed text."""
        take = self._next if self._may_have["hard"] else self._line
        for line in text.split("\n"):
            take(line)
        self._close()
        return "\n".join(self._out)

    def take(self, line: str) -> None:
        """Process one more line. Of those before, only so many are kept as are looked back at."""
        self._line(line)
        if len(self._out) > 4 * _FAR:
            del self._out[: -2 * _FAR]

    @property
    def is_verbatim(self) -> bool:
        """Whether a next line at the left margin is code or HTML; lists and quotations end there."""
        return not self._containers and self._leaf in ("fence", "html")

    @property
    def fence(self) -> tuple[str, str] | None:
        """What stands before the lines of the code that is open, as in a list, and the fence that ends it."""
        if self._leaf != "fence":
            return None
        lead = ""
        for column in self._containers:
            lead = lead.ljust(column) if column else f"{lead}> "
        return lead, self._end

    def _close(self) -> None:
        """Close the fence or HTML that the text leaves open."""
        lead = "".join("> " if not column else "" for column in self._containers)
        lead = lead.ljust(self._containers[-1]) if self._containers else ""
        if self._leaf == "fence" or (self._leaf == "html" and self._end):
            self._out.append(lead + self._end)
        if self._tags and (closing := self._tags.closing()):
            self._out.append(f"\n{closing}")

    def _next(self, line: str) -> None:
        """Process a line; the line end before it is hard if both are lines of one paragraph."""
        flowing, size = self._leaf == "paragraph", len(self._out)
        self._line(line)
        if (
            flowing
            and self._leaf == "paragraph"
            and len(self._out) == size + 1
            and line.strip()
            and not _ITEM.match(line.lstrip())
        ):
            self._out[-2] = f"{self._out[-2].rstrip(_BLANKS)}  "  # no others: `#` with one of them is no heading

    def _line(self, line: str) -> None:
        if self._may_have["table"] and self._leaf in _FLOWING:
            self._look_for_table(line)
        if not self._bare and self._is_plain(line):
            if self._tags and "`" in line and self._leaf != "fence":
                self._tags.pass_by(line)
            self._out.append(line if self._leaf == "fence" else self._unsigned(line))
            return
        flat = line.expandtabs(4)
        at, depth = self._continue(flat)
        if self._leaf in ("fence", "html"):
            self._out.append(self._inside(line, flat[at:]))
        else:
            self._begin(line, flat, at, depth)

    def _look_for_table(self, line: str) -> None:
        """Notice the second line of a table; end the table before a line that continues a paragraph, but no table."""
        ends = _NUMBERED.match(line) or _ALONE.match(line.lstrip(" \t>")) or self._is_outside(line)
        if self._leaf == "table" and ends:
            self._separate()
            self._end_leaf()
        elif _DELIMITER.match(line):
            self._leaf = "table"

    def _is_outside(self, line: str) -> bool:
        """Return whether a line of words stands outside of the quotation or list item before it."""
        return bool(self._containers and line.strip()) and self._enter(line.expandtabs(4))[1] < len(self._containers)

    def _continue(self, flat: str) -> tuple[int, int]:
        """Enter the containers that a line continues, and end the leaf of the others; return as `_enter` does."""
        if self._bare and not flat.strip(" >"):
            self._containers.pop()  # an item begins with at most one blank line
        self._bare = False
        at, depth = self._enter(flat)
        if depth < len(self._containers):
            if self._is_doubtful(flat[at:], depth):
                self._separate()
                return self._enter(flat)
            if self._leaf in ("fence", "html", "code"):
                self._end_leaf()
        return at, depth

    def _is_doubtful(self, flat: str, depth: int) -> bool:
        """Return whether some renderers count a line to the block before it, and others do not.

        It may be a table's second row or quoted. After a quotation in a quotation, its indentation may be ignored.
        """
        rest = flat.lstrip(" ")
        is_row = self._leaf in ("fence", "html", "code") and "|" in self._out[-1]
        is_indented = len(flat) - len(rest) > 3 and not _WORDS.match(rest)
        return is_row or (not self._containers[depth] and (rest[:1] == ">" or (bool(rest) and is_indented)))

    def _separate(self) -> None:
        """Put a blank line before the present one, which ends quotations."""
        self._out.append("")
        self._leave(self._containers.index(0) if 0 in self._containers else len(self._containers), "")

    def _is_plain(self, line: str) -> bool:
        """Handle a line that is plainly words, an item of words, code or blank: most are, and full parsing is slow."""
        if self._leaf == "fence":
            return self._is_plain_code(line)
        if self._leaf not in ("", *_FLOWING) or _MARKUP.search(line):
            return False
        if not line:
            return self._take_blank()
        if self._leaf in _FLOWING and _WORDS.match(line.lstrip()):
            self._reached = self._enter(line.expandtabs(4))[1] if self._containers else 0
            return True
        if _WORDS.match(line):
            self._leave(0, "paragraph")
            self._reached = 0
            return True
        item = _PLAIN_ITEM.match(line)
        return item is not None and self._take_item(item)

    def _is_plain_code(self, line: str) -> bool:
        return not self._containers and line.lstrip(" ")[:1] != self._end[0]

    def _take_blank(self) -> bool:
        if 0 in self._containers:
            return False
        self._end_leaf()
        self._reached = len(self._containers)
        return True

    def _take_item(self, item: re.Match[str]) -> bool:
        """Begin a list item at the left margin; within a paragraph only a number 1 can."""
        if item[1] not in (None, "1") and self._leaf and not self._containers:
            return False
        self._end_leaf()
        self._containers[:] = [item.end()]
        self._leaf = "paragraph"
        self._reached = 1
        return True

    def _enter(self, flat: str) -> tuple[int, int]:
        """Return the column after the containers that this line continues, and how many it continues."""
        at = 0
        for depth, column in enumerate(self._containers):
            rest = flat[at:].lstrip(" ")
            indent = len(flat) - at - len(rest)
            if column:
                if rest and at + indent < column:
                    return at, depth
                at = min(len(flat), max(at, column))
            elif indent > 3 or rest[:1] != ">":
                return at, depth
            else:
                at = _behind_quote(flat, at + indent)
        return at, len(self._containers)

    def _inside(self, line: str, rest: str) -> str:
        """Return a line of a fence or a block of HTML, and check whether it is the last one."""
        if self._leaf == "fence":
            marks = rest.strip(" ")
            indent = len(rest) - len(rest.lstrip(" "))
            if indent < 4 and len(marks) >= len(self._end) and not marks.strip(self._end[0]):
                self._leaf = ""
            return line
        shown = self._inline(line)
        if self._is_over(rest, shown):
            self._leaf = ""
        return shown

    def _begin(self, line: str, flat: str, at: int, depth: int) -> None:
        """Handle a line in which blocks may begin."""
        while (inner := self._open_container(flat, at, depth)) is not None:
            at, depth = inner, depth + 1
        rest = flat[at:].lstrip(" ")
        if not rest:
            self._blank(depth)
        elif len(flat) - at - len(rest) > 3:
            if self._leaf not in _FLOWING:
                self._leave(depth, "code")
        elif self._is_underline(rest, depth):
            self._underline(line)
            return
        elif not self._opens(rest, depth):
            self._paragraph(depth)
        self._reached = depth
        shown = self._shown(line, rest)
        self._out.append(shown)
        if self._leaf == "html" and self._is_over(rest, shown):
            self._leaf = ""

    def _open_container(self, flat: str, at: int, depth: int) -> int | None:
        """Enter the quotation or list item that begins here; return the column of its content, None if none begins."""
        rest = flat[at:].lstrip(" ")
        begin = len(flat) - len(rest)
        if not rest or begin - at > 3 or depth >= _DEEPEST or self._is_underline(rest, depth):
            return None
        if rest[0] == ">":
            self._leave(depth, "")
            self._containers.append(0)
            return _behind_quote(flat, begin)
        item = None if _RULE.fullmatch(rest) else _ITEM.match(rest)
        if item is None or not self._may_begin(item, rest, depth):
            return None
        self._leave(depth, "")
        return self._enter_item(flat, begin + item.end())

    def _leave(self, depth: int, leaf: str) -> None:
        del self._containers[depth:]
        self._end_leaf(leaf)

    def _end_leaf(self, leaf: str = "") -> None:
        self._leaf = leaf
        if self._tags:
            self._tags.begin()

    def _inline(self, line: str) -> str:
        """Return a line of text or HTML with its tags as they are printed."""
        line = disarmed(self._unsigned(line), self._may_be_in_code)
        return self._tags.line(line, is_html=self._leaf == "html") if self._tags else line

    def _unsigned(self, line: str) -> str:
        """Return a line with a backslash, which is shown, before each sign of katod's own lines."""
        return _SIGNS.sub(rf"\\{SIGN}", line) if self._may_have["sign"] else line

    def _may_be_in_code(self) -> bool:
        """Return whether a code span of the lines before may end in the next line."""
        before = takewhile(str.strip, reversed(self._out))
        return any("`" in line or number == _FAR for number, line in enumerate(islice(before, _FAR + 1)))

    def _blank(self, depth: int) -> None:
        if 0 in self._containers[depth:]:
            self._leave(depth, "")
        elif self._leaf != "code":
            self._end_leaf()

    def _paragraph(self, depth: int) -> None:
        if self._leaf not in _FLOWING:
            self._leave(depth, "paragraph")

    def _enter_item(self, flat: str, at: int) -> int:
        """Open a list item after its marker; return the column of its content."""
        rest = flat[at:]
        spaces = len(rest) - len(rest.lstrip(" "))
        self._bare = not rest.strip(" ")
        column = at + (spaces if not self._bare and 1 <= spaces <= 4 else 1)
        self._containers.append(column)
        return min(column, len(flat))

    def _may_begin(self, item: re.Match[str], rest: str, depth: int) -> bool:
        """Return whether a list item may begin here: within a paragraph it needs content, and a number must be 1."""
        if self._leaf not in _FLOWING or depth < len(self._containers):
            return True
        return bool(rest[item.end() :].strip()) and item[1] in (None, "1")

    def _is_underline(self, rest: str, depth: int) -> bool:
        """Return whether a line makes the paragraph before it a heading."""
        if self._leaf not in _FLOWING:
            return False
        within = depth == len(self._containers) or (rest[0] == "=" and self._reached < len(self._containers))
        return within and _UNDERLINE.fullmatch(rest) is not None

    def _underline(self, line: str) -> None:
        """Make the line before an underline a heading of its own, and drop the underline."""
        before = self._out[-1]
        markers = _MARKERS.match(before)
        at = markers.end() if markers else 0
        self._out[-1] = f"{before[:at]}#### {before[at:]}"
        self._out.append(line.rstrip().rstrip("=-").rstrip())
        self._leave(self._reached, "")

    def _opens(self, rest: str, depth: int) -> bool:
        """Open the fence, HTML block, heading or rule that a line begins with."""
        if fence := _FENCE.match(rest):
            self._leave(depth, "fence")
            self._end = fence[1]
            return True
        if rest[0] == "<" and self._opens_html(rest, depth):
            return True
        if _HEADING.match(rest) or _RULE.fullmatch(rest):
            self._leave(depth, "")
            return True
        return False

    def _opens_html(self, rest: str, depth: int) -> bool:
        if self._tags is None or not self._tags.opens(self._as_printed(rest)):
            return False
        alone = self._leaf not in _FLOWING and _ALONE.match(rest) is not None
        if not (alone or rest.startswith("<!--") or _PREFORMATTED.match(rest) or _TO_BLANK.match(rest)):
            return False
        self._end = "-->" if rest.startswith("<!--") else "</pre>" if _PREFORMATTED.match(rest) else ""
        self._leave(depth, "html")
        return True

    def _as_printed(self, rest: str) -> str:
        """Return a line that poses as one of katod's as it is printed: its tag stays then, and may open a block."""
        return literal(rest) if not self._containers and poses(rest) else rest

    def _is_over(self, rest: str, shown: str) -> bool:
        """Return whether a block of HTML ends with this line, as printed."""
        return self._end in shown.lower() if self._end else not rest.strip()

    def _shown(self, line: str, rest: str) -> str:
        """Return a line outside of fences as it is printed."""
        if self._leaf in ("fence", "html"):  # some renderers look for tables first
            line = line.replace("|", "&#124;")
        if self._leaf in ("fence", "code"):
            return line
        if rest[:1] == "[" and self._may_have["definition"] and _DEFINITION.match(rest):
            line = line.replace("[", "\\[", 1)  # it would apply to the whole page
        if not self._containers and poses(rest):
            line = literal(line)  # only katod may say so
        heading = _HEADING.match(rest) if not self._leaf else None
        return self._moved_down(line, heading[1]) if heading else self._inline(line)

    def _moved_down(self, line: str, marks: str) -> str:
        """Return a heading three levels down, or as far as there are levels."""
        at = line.index("#")
        return line[:at] + "#" * min(3, 6 - len(marks)) + self._inline(line[at:])


class _Unchanged(_Blocks):
    """The same for lines that were processed: what is a tag there was kept."""

    def _inline(self, line: str) -> str:
        # In HTML, a tag that is printed was kept, whatever backticks are before it.
        if self._leaf != "html" or "<" in line:
            super()._inline(line)
        return line


class PrintedBlocks:
    """Follows the lines of a message that `neutral` returned: which of the next ones belong to its code or HTML."""

    def __init__(self) -> None:
        # What is printed has an end for each table, and only tags that are kept.
        self._tags = Tags(tables=False, ends=0)
        self._blocks = _Unchanged(self._tags, dict.fromkeys(("hard", "table", "definition", "sign"), False))

    def take(self, line: str) -> None:
        """Follow one more line."""
        self._blocks.take(line)

    @property
    def fence(self) -> tuple[str, str] | None:
        """What stands before the lines of the code that is open, as in a list, and the fence that ends it."""
        return self._blocks.fence

    def holds(self, line: str) -> bool:
        """Return whether the next line, one that begins like a heading or an end, is code or HTML of the message."""
        return self._blocks.is_verbatim or (line == _END_OF_FOLD and self._tags.innermost == "details")


def _behind_quote(flat: str, at: int) -> int:
    """Return the column after a `>` and the space that belongs to it."""
    return at + 2 if flat[at + 1 : at + 2] == " " else at + 1
