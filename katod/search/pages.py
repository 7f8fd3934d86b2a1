"""Pages of HTML that katod wrote, taken apart again into passages, as they look. Pure.

A prompt in Markdown is on a page twice, as it looks and as it was typed: one passage, of which both are searched. All
text of a page without a head of katod's is a note, and so is what a person wrote above the first heading.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from katod.formats.text.ownlines import SIGN
from katod.search.hits import TranscriptHead
from katod.search.passages import NOTE, OWN_NOTE, Heading, Passage, SpokenPart, named, passages

_END: Final = "</details>"
_IN_PROMPT: Final = r"(?:Pasted: )?[\d,]+ lines?(?: more)?</summary>"
_PROMPT_FOLD: Final = re.compile(rf"<details>\n<summary>{_IN_PROMPT}\n(.*?)\n{_END}", re.DOTALL)
_WRITTEN: Final = '<div class="typed written">'
_AS_TYPED: Final = re.compile(
    rf'{_WRITTEN}<details class="source"><summary>[^<]*</summary><div class="plain">([^<]*)</div></details>'
)
_TYPED: Final = re.compile(rf'{_WRITTEN}<pre>([^<]*)</pre>\s*<div class="shown">(.*?)</div></div>', re.DOTALL)
_PIECES: Final = re.compile(
    r'(?=<h[1-6] class="speaker|<details[ >]|</details>|<div class="(?:tool|typed|question)|<p class="(?!about)|<nav>)'
)
_SPEAKER: Final = re.compile(
    r'<h[1-6] class="speaker[^>]*>(?:<a [^>]*>)?([^<]*)(?:</a>)?(?:<span[^>]*>[^<]*</span>)?'
    r"(?:<time>([^<]*)</time>)?</h[1-6]>"
)
_BETWEEN: Final = re.compile(r'<details class="between">\n<summary><b>([^<>\n]+)</b>')
_NAMED: Final = re.compile(r"<details>\n<summary>(?:<b>([^<>\n]+)</b>(?: |</summary>)|(Thinking)</summary>)")
_TOOL: Final = re.compile(
    r'<div class="tool"><b>([^<>\n]*)</b>.*?</div>(?:\s*<div class="outcome">.*?</div>)*', re.DOTALL
)
# A mark or a time; a note or a footer.
_OWN: Final = re.compile(r'<p class="(?:(?:mark|stamp)">[^<]*|(?:footer|note)">([^<]*))</p>')
# What is attached, which begins with a small letter, belongs to its message.
_ATTACHED: Final = re.compile(r'<p class="note">[a-z]')
_ANSWER: Final = re.compile(r'<div class="typed"><b>You(?: \(([^<]*)\))?:</b> ([^<]*)</div>')
_TITLE: Final = re.compile(r"<title>([^<]*)</title>")
_ABOUT: Final = re.compile(
    r'<p class="about">([^<]*?) (?:\d[^<·]*)?(?:· ([^<·]*?) )?(?:· [^<]*? )??· (\d{4}-\d\d-\d\d) [^<(]*\(([^)<]*)\)'
    r"(?: · [^<]*)?</p>"
)
_BELOW_TITLE: Final = re.compile(rf'{_ABOUT.pattern}|<h1>[^<]*</h1>\n<p class="about">[^<]*</p>')
_HEAD: Final = 256 * 1024  # characters: the styles come first
_PROMPTS: Final = "<nav>"  # the list of prompts at the end of a page
_PICTURE: Final = re.compile(r'<img src="[^"]*" alt="([^"]*)">')
_MARKUP: Final = re.compile(r"<[^>]*>")
# Of a page that somebody else wrote: what is not shown, where a line ends, and tags. Any other `<` is text.
_UNSHOWN: Final = re.compile(r"<(style|script)\b(?:[^<]|<(?!/\1))*+(?:</\1[^<>]*>|\Z)", re.IGNORECASE)
_BLOCKS: Final = "p|div|h[1-6]|[uod]l|li|d[dt]|t[dhr]|title|pre|nav|section|article|details|summary|option|blockquote"
_LINE_END: Final = re.compile(rf"<(?:[bh]r\b|/(?:{_BLOCKS})(?=[ >]))[^<>]*>(?!\s*\n)", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-z][^<>]*>|<[!?][a-z][^<>]*>|<!--|-->", re.IGNORECASE)


def page_about(text: str) -> TranscriptHead:
    """Return the head of an HTML page; pages do not name their session."""
    title, found = _TITLE.search(text, 0, _HEAD), _ABOUT.search(text, 0, _HEAD)
    if found is None:
        return TranscriptHead(title=unescape(title[1]) if title else "")
    product, project, date, zone = (unescape(part or "") for part in found.groups())
    return TranscriptHead(product, "", "", project, unescape(title[1]) if title else "", date, zone)


def page_passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a page of HTML, in order; of one that katod wrote, without pictures and list of prompts."""
    head = page_about(text)
    if below := _BELOW_TITLE.search(text, 0, _HEAD):
        yield from passages(_read(text[below.end() :], Heading(day=head.date)), head.zone)
    else:
        yield from passages([SpokenPart(Heading(), NOTE, _all_text(text))], "")


def _all_text(page: str) -> str:
    """Return the text of a page that may have any HTML."""
    return unescape(_TAG.sub("", _LINE_END.sub("\n", _UNSHOWN.sub("", page)))).strip()


def _read(text: str, heading: Heading) -> Iterator[SpokenPart]:
    """Yield the parts of a page of katod's, from the line about it on."""
    folds = list[str]()  # that are open, each with who says what is in it, if it is one of katod's
    prepared = _PROMPT_FOLD.sub(r"\1", _AS_TYPED.sub(rf"{_WRITTEN}<pre>\1</pre>", text))
    for piece in _PIECES.split(prepared):
        if piece.startswith(_PROMPTS):
            return
        if found := _SPEAKER.match(piece):
            heading, folds = heading.following(found[1], found[2] or ""), []
        elif piece.startswith(_END):
            del folds[-1:]
        elif piece.startswith("<details"):
            folds.append(_fold(piece, heading.speaker))
        begin = _BETWEEN.match(piece) or found
        rest, in_fold = piece[begin.end() if begin else 0 :], next(filter(None, folds), "")
        yield from _in_fold(rest, heading, in_fold) if in_fold else _parts(rest, heading, is_fold=bool(folds))


def _fold(piece: str, speaker: str) -> str:
    """Return who says what is in a fold of katod's that begins here, an empty string for any other one."""
    if between := _BETWEEN.match(piece):
        return named(unescape(between[1]))
    name = _NAMED.match(piece) if speaker else None
    return f"{speaker} {SIGN} {unescape(name[name.lastindex or 0])}" if name else ""


def _in_fold(piece: str, heading: Heading, speaker: str) -> Iterator[SpokenPart]:
    """Yield a piece of what is in a fold of a tool or between agents: a tool line there, and any other words."""
    tool = _TOOL.match(piece)
    if tool:
        yield _tool_line(tool, heading, speaker.partition(f" {SIGN} ")[0])
    if words := _shown(piece[tool.end() if tool else 0 :]):
        yield SpokenPart(heading, speaker, words, alone=True)


def _parts(piece: str, heading: Heading, *, is_fold: bool) -> Iterator[SpokenPart]:
    """Yield what a piece below a heading begins with, if that is said by somebody else, and its other words.

    Above the first heading, katod has only notes: any other words are a person's.
    """
    speaker = heading.speaker or NOTE
    is_said = heading.speaker and _ATTACHED.match(piece)
    found = None if is_said else _TOOL.match(piece) or _ANSWER.match(piece) or _OWN.match(piece)
    yield from _of_others(found, heading, speaker) if found else ()
    yield _words(piece[found.end() if found else 0 :], heading, speaker, is_fold=is_fold)


def _of_others(found: re.Match[str], heading: Heading, speaker: str) -> Iterator[SpokenPart]:
    """Yield a tool line, an answer of the user, or a note of katod's; marks and times say nothing."""
    if found.re is _TOOL:
        yield _tool_line(found, heading, speaker)
    elif found.re is _ANSWER:
        yield from _answer(found, heading, speaker)
    elif found[1]:
        yield SpokenPart(heading, OWN_NOTE, unescape(found[1]).strip())


def _tool_line(tool: re.Match[str], heading: Heading, speaker: str) -> SpokenPart:
    """Return a tool line with its outcomes."""
    return SpokenPart(heading, f"{speaker} {SIGN} {unescape(tool[1])}", _shown(tool[0]), alone=True)


def _answer(answer: re.Match[str], heading: Heading, speaker: str) -> Iterator[SpokenPart]:
    """Yield an answer of the user; what names its question, if several are open, is the agent's."""
    if answer[1]:
        yield SpokenPart(heading, speaker, unescape(answer[1]))
    yield SpokenPart(heading, "You", unescape(answer[2]).strip(), alone=True)


def _words(piece: str, heading: Heading, speaker: str, *, is_fold: bool) -> SpokenPart:
    """Return what is shown below a heading, of a prompt in Markdown with its source."""
    typed = _TYPED.match(piece)
    if typed is None:
        return SpokenPart(heading, speaker, _shown(piece), alone=is_fold)
    rest = _shown(piece[typed.end() :])
    text, source = (f"{words}\n\n{rest}".strip() for words in (_shown(typed[2]), unescape(typed[1])))
    return SpokenPart(heading, speaker, text, source=source)


def _shown(piece: str) -> str:
    """Return what a piece looks like, as text: choices are lines of their own, and a picture is what it is called."""
    piece = _PICTURE.sub(r"\1", piece) if "<img " in piece else piece
    return unescape(_MARKUP.sub("", piece.replace("</li><li>", "</li>\n<li>"))).strip()
