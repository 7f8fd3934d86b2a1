"""Pages of HTML that katod wrote, taken apart again into passages, as they look. Pure.

A prompt in Markdown is on a page twice, as it looks and as it was typed: one passage, of which both are searched. All
text of a page without a head of katod's is a note, and so is what a person wrote above the first heading, at the end,
or into an index of pages.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from katod.formats.text.ownlines import SIGN
from katod.formatspec import FORMATS
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
    r'(?=<h[1-6] class="speaker|<details[ >]|</details>|<div class="(?:tool|typed|question)|<p class="(?!about))'
)
_SPEAKER: Final = re.compile(
    r'<h[1-6] class="speaker[^<>]*>(?:<a [^<>]*>)?([^<]*)(?:</a>)?(?:<span[^<>]*>[^<]*</span>)?'
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
_ABOUT: Final = re.compile(r'<p class="about">([^<]*)</p>')
_DOT: Final = " · "
_VERSION: Final = re.compile(r" \d")  # behind a product
_WHEN: Final = re.compile(r"(\d{4}-\d\d-\d\d) [^(]*\(([^)]*)\)")
_TITLE: Final = re.compile(r"<title\b[^<>]*>([^<]*)</title>", re.IGNORECASE)
_HEAD: Final = 256 * 1024  # characters: the styles come first
_END_OF_HEAD: Final = re.compile(r"</head\s*>", re.IGNORECASE)
# katod's pages have had it since there are indexes of them; older ones are known by how they begin.
_GENERATOR: Final = re.compile(r'<meta name="generator" content="katod"\s*/?>')
_BEGIN: Final = 512  # characters
_END_OF_WORDS: Final = "</main>"
# katod's own title, as it is called if a person gave the page another one: which of the two is theirs is not said.
_OTHER_TITLE: Final = re.compile(r"(<main>\s*)<h1>([^<]*)</h1>")
_SAVED: Final = re.compile(r"<!-- saved from url=\(\d+\)[^<>\s]* -->")  # by a browser


def _element(name: str, begin: str) -> re.Pattern[str]:
    """Return what finds elements that begin so: each to its end, or as far as others of its name have theirs."""
    inner = rf"[^<]++|<(?!/?{name}\b)"
    return re.compile(rf"{begin}(?:{inner}|<{name}\b(?:{inner})*+</{name}>)*+")


_LIST: Final = _element("nav", "<nav>")  # at the end of a page
_OF_PROMPTS: Final = "<b>Prompts</b>"
_PROMPTS: Final = re.compile(rf'{_OF_PROMPTS}|<li><a href="#m\d+">[^<]*</a></li>')
# An index says less in its head than any transcript does.
_INDEX: Final = re.compile(rf"{_GENERATOR.pattern}\s*<title>Transcripts</title>")
_MONTH: Final = r"(?:[A-Z][a-z]+ \d{4}|Without a date)"
_MONTH_ID: Final = r"(?:m\d{4}-\d\d|undated)"
_DAYS: Final = r"\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?"
_ABOUT_INDEX: Final = rf"[\d,]+ transcripts?(?: · {_DAYS})?(?: · [\d,]+ sub-agents?)?"
_TOP_OF_INDEX: Final = re.compile(
    rf'<h1>Transcripts</h1>|<p class="about">{_ABOUT_INDEX}</p>|<h2 id="{_MONTH_ID}">{_MONTH}</h2>'
)
_MONTHS: Final = _element("nav", '<nav aria-label="Months">')
_OF_MONTHS: Final = re.compile(rf'<b>Months</b>|<li><a href="#{_MONTH_ID}">{_MONTH}</a> <span class="about">\d+</span>')
_PAGES: Final = _element("ul", '<ul class="pages">')
_OF_PAGES: Final = re.compile(
    r'<li><a href="(?!\.{0,2}/)[\w.~%/-]+\.html">[^<]*</a>(?: <span class="about">[^<]*</span>)?|'
    r"<summary>[\d,]+ sub-agents?</summary>"
)
_PICTURE: Final = re.compile(r'<img src="[^"]*" alt="([^"]*)">')
# Tags have names; any other `<` is text. One in quotes is part of its attribute. `*+` tries nothing twice.
_ATTRIBUTES: Final = r"""(?:>|[\s/](?:[^<>"'=]*+=\s*+(?:"[^"]*+"|'[^']*+')?+)*+[^<>"'=]*+>|[\s/][^<>]*>)"""
_NAMED_TAG: Final = rf"</?[a-z][\w:-]*+{_ATTRIBUTES}"
_TAG: Final = re.compile(rf"{_NAMED_TAG}|<[!?][a-z][^<>]*>", re.IGNORECASE)
_INLINE: Final = (
    "span|code|a(?:bbr|cronym)?|b(?:d[io]|ig)?|cite|d(?:ata|el|fn)|em|font|i(?:ns)?|kbd|label|mark|meter|nobr|output|q|"
    "r(?:[bpt]|tc|uby)|s(?:amp|mall|trike|trong|u[bp])?|t(?:ime|t)|u|var|wbr"
)
_BLOCK_TAGS: Final = re.compile(
    rf"(?:</?(?!(?:{_INLINE})[\s/>])[a-z][\w:-]*+{_ATTRIBUTES})++(\s*\n|)", re.IGNORECASE
)  # fmt: skip
_COMMENT: Final = re.compile(r"<!--(.*?)(?:--!?>|\Z)", re.DOTALL)
# Where tags are none, and other tags, which may have these in an attribute. An element without an end goes to the last
# character, one that says itself that it is empty (`/>`) has no content.
_OPAQUE: Final = re.compile(
    rf"{_COMMENT.pattern}|<(script|style|textarea|title)(?![\w:-])(?![^<>]*/>){_ATTRIBUTES}"
    rf"([^<]*+(?:<(?!/\2(?![\w:-]))[^<]*+)*+)(?:</[^<>]*+>?)?|{_NAMED_TAG}",
    re.DOTALL | re.IGNORECASE,
)
_UNSHOWN: Final = frozenset({"script", "style"})


def page_about(text: str) -> TranscriptHead:
    """Return the head of an HTML page; pages do not name their session, and those of others say only their title."""
    title = _TITLE.search(text, 0, _HEAD)
    named = unescape(title[1]).strip() if title else ""
    line = _about_line(text[:_HEAD]) if _is_ours(text) else None
    about = _about(line[1]) if line else None
    return about._replace(title=named) if about else TranscriptHead(title=named)


def _about_line(text: str) -> re.Match[str] | None:
    """Return the line about a page: the first one that is as katod prints it, or the first of all."""
    lines = list(_ABOUT.finditer(text))
    return next((line for line in lines if _about(line[1])), lines[0] if lines else None)


def _about(line: str) -> TranscriptHead | None:
    """Return what a line about a page says: product, project, branch, when, labels."""
    product, *others = line.split(_DOT)
    found = [(number, when) for number, part in enumerate(others) if (when := _WHEN.fullmatch(part))]
    if not found:
        return None
    number, when = found[-1]  # a project or a branch may be called like a day
    product, project = (unescape(part) for part in (_VERSION.split(product, 1)[0], others[0] if number else ""))
    return TranscriptHead(product, project=project, date=when[1], zone=unescape(when[2]))


def page_passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a page of HTML, in order; of one that katod wrote, without pictures and list of prompts.

    Of an index of pages that katod wrote, there is only what a person added.
    """
    if not _is_ours(text):
        yield from passages([SpokenPart(Heading(), NOTE, _all_text(text))], "")
    elif _INDEX.search(text, 0, _HEAD):
        yield from passages([SpokenPart(Heading(), NOTE, _all_text(_without_index(text)))], "")
    else:
        head = page_about(text)
        yield from passages(_parts_of_page(text, Heading(day=head.date)), head.zone)


def _is_ours(text: str) -> bool:
    """Return whether katod wrote a page, by its head."""
    if FORMATS["html"].is_printed(text[:_BEGIN].encode()):
        return True
    end = _END_OF_HEAD.search(text, 0, _HEAD)
    return end is not None and _GENERATOR.search(text, 0, end.start()) is not None


def _parts_of_page(text: str, heading: Heading) -> Iterator[SpokenPart]:
    """Yield the parts of a page of katod's, with what a person wrote around it."""
    end = _END_OF_HEAD.search(text, 0, _HEAD)
    begin = end.end() if end else 0
    body, _, rest = _COMMENT.sub(r"\1", text[begin:]).rpartition(_END_OF_WORDS)
    if not body:  # of a recording that goes on
        body, rest = rest, ""
    title = _TITLE.search(text, 0, _HEAD)
    shown_title = f"<h1>{title[1]}</h1>" if title else ""
    first = _SPEAKER.search(body)
    top = first.start() if first else len(body)
    above = body[:top].replace(shown_title, "", 1)
    if line := _about_line(above):
        above = above[: line.start()] + above[line.end() :]
    yield SpokenPart(heading, NOTE, _all_text(_TITLE.sub("", _SAVED.sub("", text[:begin], 1), 1)))
    yield from _read(_OTHER_TITLE.sub(r'\1<p class="note">\2</p>', above, 1) + body[top:], heading)
    yield SpokenPart(Heading(), NOTE, _shown(_LIST.sub(_without_prompts, rest)))


def _without_prompts(found: re.Match[str]) -> str:
    """Return an element without the list of prompts, if it is the one that has it."""
    return _PROMPTS.sub("", found[0]) if _OF_PROMPTS in found[0] else found[0]


def _without_index(text: str) -> str:
    """Return an index of pages without what katod writes there, each where it writes it."""
    words = _TOP_OF_INDEX.sub("", _SAVED.sub("", _TITLE.sub("", text, 1), 1))
    words = _PAGES.sub(lambda found: _OF_PAGES.sub("", found[0]), words)
    return _MONTHS.sub(lambda found: _OF_MONTHS.sub("", found[0]), words, 1)


def _all_text(page: str) -> str:
    """Return the text of a page that may have any HTML."""
    return re.sub(r"\n(?:[^\S\n]*\n)+", "\n", _shown(_OPAQUE.sub(_opened, page)))


def _opened(found: re.Match[str]) -> str:
    """Return what may have no tags as HTML without any: a comment or a field as its text. Other tags stay."""
    comment, name, content = found.groups()
    if comment is not None:
        return _without_tags(comment).replace("<", "&lt;")
    if name is None:
        return found[0]
    return "<br>" if name.lower() in _UNSHOWN else f"<br>{content.replace('<', '&lt;')}<br>"


def _read(text: str, heading: Heading) -> Iterator[SpokenPart]:
    """Yield the parts of a page of katod's below its title."""
    folds = list[str]()  # that are open, each with who says what is in it, if it or one around it is katod's
    for piece in _PIECES.split(_unfolded(_AS_TYPED.sub(rf"{_WRITTEN}<pre>\1</pre>", text))):
        if found := _SPEAKER.match(piece):
            heading, folds = heading.following(found[1], found[2] or ""), []
        elif piece.startswith(_END):
            del folds[-1:]
        elif piece.startswith("<details"):
            folds.append(_innermost(folds) or _fold(piece, heading.speaker))
        begin = _BETWEEN.match(piece) or found
        rest, in_fold = piece[begin.end() if begin else 0 :], _innermost(folds)
        yield from _in_fold(rest, heading, in_fold) if in_fold else _parts(rest, heading, is_fold=bool(folds))


def _unfolded(text: str) -> str:
    """Return the parts of a page without the folds of prompts; behind the last end of one, nothing looks for it."""
    end = text.rfind(f"\n{_END}") + 1 + len(_END)
    return _PROMPT_FOLD.sub(r"\1", text[:end]) + text[end:]


def _innermost(folds: list[str]) -> str:
    """Return who says what is in all open folds, an empty string if that is who says what is around them."""
    return folds[-1] if folds else ""


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
    """Return what a piece looks like, as text: blocks are lines of their own, and a picture is what it is called."""
    piece = _PICTURE.sub(r"\1", piece) if "<img " in piece else piece
    return unescape(_without_tags(piece)).strip()


def _without_tags(piece: str) -> str:
    """Return HTML without tags; where a block begins or ends within a line, a line ends."""
    return _TAG.sub("", _BLOCK_TAGS.sub(_line_end, piece))


def _line_end(tags: re.Match[str]) -> str:
    """Return what stands for tags of blocks: one line end, if there is none beside them."""
    before = tags.string[max(0, tags.start() - 1) : tags.start()]
    return tags[1] or ("" if before == "\n" else "\n")
