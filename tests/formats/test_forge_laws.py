"""The laws of transcripts once more, as a forge reads them: its own renderer instead of a CommonMark one."""

from functools import cache
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options as Flags
from hypothesis import example, given
from hypothesis import strategies as st

from katod.formats.text.mdtext import body, typed
from katod.formats.text.quiet import quiet
from tests.examples import examples
from tests.formats.test_markdown_laws import TEXTS, TOOLS, everything, transcripts, whole
from tests.formats.text.test_quiet import MENTION, Words
from tests.formats.text.test_quiet import TEXTS as NAMING
from tests.golden.hostile import OUTLINE, form_of

pytestmark = pytest.mark.slow

# In these, a paragraph is not one of the conversation itself.
BLOCKS = frozenset({"blockquote", "details", "div", "li", "ol", "pre", "summary", "table", "ul"})
SIGNS = {"em": "\ue000", "i": "\ue000", "strong": "\ue001", "b": "\ue001"}


class Reading(HTMLParser):
    """What a reader of a page sees of the conversation: its outline, and the lines that look like katod's own."""

    def __init__(self, markdown):
        super().__init__()
        self.outline, self.forms = [], []
        self._open, self._text = [], None
        text = markdown.partition("\n---\n")[2] if markdown.startswith("---\n") else markdown
        self.feed(cmarkgfm.github_flavored_markdown_to_html(text, options=Flags.CMARK_OPT_UNSAFE))
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag in OUTLINE or (tag == "p" and not self._open):
            self._text = ""
        elif self._text is not None:
            self._text += "\n" if tag == "br" else SIGNS.get(tag, "`" if tag == "code" else "")
        if tag in BLOCKS:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if tag in OUTLINE and self._text is not None:
            self.outline.append((tag, self._text.split()[0] if self._text.strip() else ""))
            self._text = None
        elif tag == "p" and not self._open and self._text is not None:
            self.forms += filter(None, (form_of(" ".join(line.split())) for line in self._text.split("\n")))
            self._text = None
        elif self._text is not None:
            self._text += SIGNS.get(tag, "`" if tag == "code" else "")

    def handle_data(self, data):
        if self._text is not None:
            self._text += data


@cache
def plain(options, breaks):
    """Return how a conversation of so many plain lines is read."""
    read = Reading(whole("x" + "\nx" * breaks, options))
    return read.outline, read.forms


@examples(3, 1_000)
@given(tools=TOOLS, text=TEXTS)
@example(tools="summary", text='<img src="http://x">\\<div>')
@example(tools="summary", text="<div>*1 tool```<div>```")
@example(tools="summary", text='`<img src="http://x"><div>`<div>`')
def test_the_outline_on_a_forge_is_that_of_plain_words(tools, text):
    """Whatever its texts and names contain, a forge shows the headings and katod's lines of a transcript of plain words."""
    options, text = everything(tools), f"x\n{text}"
    read, (outline, forms) = Reading(whole(text, options)), plain(options, text.strip().count("\n"))
    assert read.outline == outline
    assert read.forms == forms


@examples(4, 200)
@given(tools=TOOLS, data=st.data())
def test_a_transcript_in_a_conversation_changes_nothing_on_a_forge(tools, data):
    """Transcripts by katod as messages, results and names pose as nothing."""
    options, text = everything(tools), f"x\n{data.draw(st.sampled_from(transcripts())).rstrip()}"
    read, (outline, forms) = Reading(whole(text, options)), plain(options, text.count("\n"))
    assert (read.outline, read.forms) == (outline, forms)


@examples(3, 2_000)
@given(NAMING)
@example("@fooa@b.de#12")
@example("_@a/team_@foo")
def test_a_forge_notifies_nobody(text):
    """The forge's own renderer finds no name outside of code and links either."""
    for shown in (quiet(body(text)), quiet(typed(text))):
        page = cmarkgfm.github_flavored_markdown_to_html(shown, options=Flags.CMARK_OPT_UNSAFE)
        assert [said for said in Words(page).texts if MENTION.search(said)] == []
