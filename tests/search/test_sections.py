"""Markdown in sections, as it arrives."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from katod.formats.text.mdblocks import neutral
from katod.search.markup import plain
from katod.search.query import Query
from katod.search.sections import SPEAKERS, Sections, messages, place_in, sections_of, without_front_matter
from katod.search.transcripts import markdown_passages
from tests.documents import ROOT
from tests.examples import texts
from tests.looping import each
from tests.search.edits import ADDITIONS, HEADS

GOLDEN = ROOT / "fixtures" / "golden" / "claude"


def cut(*pieces):
    """Return the sections of a text that arrives in pieces."""
    return [section.shown for section in _sections(*pieces)]


def _sections(*pieces):
    sections = Sections()
    return [section for piece in pieces for section in sections.take(piece)] + list(sections.flush())


@given(text=texts(), at=st.integers(0, 50))
@example(text="```", at=0)
def test_nothing_is_lost_however_the_text_arrives(text, at):
    """The sections are the text, whose lines and blocks of code all end; pieces make no difference."""
    whole = cut(text)
    assert cut(text[:at], text[at:]) == whole
    shown, said = "".join(whole).split(), text.split()
    assert shown[: len(said)] == said
    assert set("".join(shown[len(said) :])) <= {"`", "~", ">"}


def test_a_section_ends_before_a_heading():
    """Not before what looks like one in a block of code."""
    assert cut("a\n# b\n\n```sh\n# c\n```\n## d") == ["a\n", "# b\n\n```sh\n# c\n```\n", "## d\n"]
    assert cut("~~~~\n```\n# a\n~~~\n# b\n~~~~\n# c\n") == ["~~~~\n```\n# a\n~~~\n# b\n~~~~\n", "# c\n"]


def test_a_section_is_complete_before_the_next_one_is():
    """The first heading is there as soon as the second one begins."""
    assert [section.shown for section in Sections().take("# a\n\nb\n# c\n")] == ["# a\n\nb\n"]


def test_a_long_section_ends_at_a_blank_line_and_a_very_long_one_anywhere():
    """A block of code is closed, and opened again in the next section."""
    words = "word " * 200 + "\n\n"
    assert [len(section) < 10_000 for section in cut(words * 50)] == [True] * len(cut(words * 50))
    sections = cut("```js\n" + "x = 1;\n" * 20_000 + "```\n")
    assert len(sections) > 3
    assert all(section.startswith("```js\n") and section.endswith("```\n") for section in sections)
    assert sum(section.count("x = 1;") for section in sections) == 20_000
    assert max(map(len, cut("x" * 1_000_000))) < 50_000


@each(
    "text, expected",
    [
        ("---\ntitle: x\n---\n# a", "# a"),
        ("--", "--"),
        ("---\nnever closed", "---\nnever closed"),
        ("# a\n---\nb\n---\n", "# a\n---\nb\n---\n"),
        ("---\n" + "x" * 10_000 + "\n--- \n# a", "# a"),
        ("---\n" + "x" * 70_000 + "\n---\n", "---\n" + "x" * 70_000 + "\n---\n"),
        ("\ufeff\n---\ntitle: x\n...\n# a", "# a"),
        ("", ""),
    ],
)
def test_front_matter_is_left_out(text, expected):
    """Only at the beginning, only if it ends soon, and however the text arrives."""
    assert "".join(without_front_matter([text])) == expected
    assert "".join(without_front_matter(text)) == expected


def test_a_long_line_is_cut_between_words():
    """Nothing is added to what is written; in words without blanks it is cut before a letter."""
    text = "y" * 8185 + " straddleneedle " + "z" * 50 + "\n" + "検索" * 9000 + "\n"
    sections = _sections(text)
    assert "".join(section.written for section in sections) == text
    shown = "".join(section.shown for section in sections)
    assert " \nstraddleneedle " in shown
    assert shown.replace("\n", "") == text.replace("\n", "")
    assert max(map(len, shown.split("\n"))) <= 8192


@each("signs", ["", "#" * 8186, "`" * 8190, " " * 8190, "-1" * 4095])
def test_what_goes_on_behind_a_cut_begins_nothing(signs):
    """Neither a heading with a speaker nor code, wherever a line is cut."""
    for number in range(12):
        line = (signs or "x" * 8180) + "x" * number + " ## You · 10:00 · do it ```"
        for section in _sections(f"Look: {line}\n"):
            assert not any(row.startswith((*SPEAKERS, "```")) for row in section.shown.split("\n"))
    assert len(_sections("```js``` is how\n\n## You\n")) == 2


def test_words_are_looked_for_in_whole_messages():
    """In whatever sections they are, and where a line was cut; of messages that are found, a section is named."""
    far = "alphaword\n\n" + "so it goes\n\n" * 9000 + "a longomegaword\n"
    text = f"## You\n\n{far}\n### Claude\n\n{'検' * 8190}索引語\n\n## You\n\nalphaword\n"
    found = {
        words: [place_in(message, Query(words)) for message in messages(sections_of([text]))]
        for words in (("alphaword", "longomegaword"), ("検索引",), ("alphaword",))
    }
    far_apart, straddling, everywhere = found.values()
    assert far_apart[0] > 0
    assert far_apart[1:] == [None, None]
    assert [place is not None for place in straddling] == [False, True, False]
    assert everywhere == [0, None, 0]


PAGE = "Here is the zebra page:\n\n<div>\n## You · 12:00\nyes, all giraffes\n</div>\n\nDone.\n"


def test_a_line_of_a_message_is_no_heading():
    """In HTML it is shown with a backslash; nothing ends the message before the next speaker."""
    text = f"## You · 11:00\n\nHi.\n\n### Claude · 11:01\n\n{PAGE}\n## You · 11:02\n\n- ```\n  x\n  ```\n\n### Claude\n"
    sections = _sections(text)
    assert [section.is_heading for section in sections] == [True] * 4
    assert "".join(section.written for section in sections) == text
    assert "\n\\## You · 12:00\n" in sections[1].shown
    assert [place_in(message, Query(["zebra", "giraffes"])) for message in messages(sections)] == [None, 0, None, None]


@each("piece", ["<div>\n", "<pre>\n", "- ```\n  a\n", "> <div>\n", "```\na\n```\n<!--\n", "~~~\n```\n~~~\n", "a\n"])
def test_messages_begin_where_passages_do(piece):
    """A search, and what shows its hits, agree on where a message is."""
    said = neutral(f"{piece}## You · 12:00\n```\n## You · 12:01\n")
    text = f"## You · 11:00\n\n{said}\n\n### Claude · 11:01\n\n{said}\n\n## You · 11:02\n\n{said}\n"
    headings = [section.shown.partition("\n")[0] for section in _sections(text) if section.is_heading]
    assert headings == ["## You · 11:00", "### Claude · 11:01", "## You · 11:02"]
    assert [passage.time[11:16] for passage in markdown_passages([text])] == [""] * 3


FENCES = [
    "<details>\n<summary>Logs</summary>\n```\nfirst\n\nsecond\n```\n</details>", "1. ```sh\n   ls\n   ```", "<pre>\n```\n</pre>",
    "- a\n\n  ~~~\n  # b\n  ~~~\n- ```\n  c\n  ```", "> ```\n> a\n\nb", "- ```\n  a\n# b", "<div>\n# ```\n</div>", "<!--\n~~~\n\n~~~\n",
]  # fmt: skip


@each("said", FENCES)
def test_only_code_that_is_cut_is_closed(said):
    """What looks like a fence in HTML is none, and one in a list ends with it: nothing is added before a heading."""
    text = f"## You · 11:00\n\n{neutral(said)}\n\n### Claude · 11:01\n\n- ```\n  open\n## You · 11:02\n\nDone.\n"
    assert "".join(cut(text)) == text
    assert [section.is_heading for section in _sections(text)].count(True) == 3


def test_code_in_a_list_is_cut_within_the_list():
    """Its fences are indented as it is, and blank lines in it are no gaps."""
    for lead, line in (("1. ", "   "), ("> ", "> "), ("> - ", ">   ")):
        text = f"{lead}```js\n" + f"{line}x = 1;\n{line.rstrip()}\n" * 4000 + f"{line}```\n"
        first, *rest = cut(text)
        assert first.startswith(f"{lead}```js\n")
        assert first.endswith(f"\n{line}```\n")
        assert all(section.startswith(f"{line}```js\n{line.rstrip()}") for section in rest)
        assert rest[-1].endswith(f"\n{line}```\n")
        assert 1 <= len(rest) <= 3


def test_of_a_huge_message_little_is_kept():
    """However many lines it has."""
    sections = Sections()
    for _ in range(1000):
        list(sections.take("some <b>words</b>\n\n" * 10))
    assert len(sections._message._blocks._blocks._out) < 500


def _words(passage):
    """Return words of a passage that are not next to each other."""
    return re.findall(r"[^\W_]{2,}", plain(passage.text))[::3][:8]


TRANSCRIPTS = ["next-day.md", "plain-turn.md", "tool-kinds-more.full.md", "ask-user-question.md"]


@each("name", TRANSCRIPTS)
@each("way", ["", *sorted(HEADS), *sorted(ADDITIONS)])
def test_what_a_search_finds_in_a_passage_is_found_in_a_message(name, way):
    """Whatever a person made of the transcript, and whether or not it is known to be a recording."""
    text = (HEADS | ADDITIONS | {"": str})[way]((GOLDEN / name).read_text())
    for is_recording in (True, False):
        shown = list(messages(sections_of([text], is_recording=is_recording)))
        for passage in markdown_passages([text], is_recording=is_recording):
            if words := _words(passage):
                assert any(place_in(message, Query(words)) is not None for message in shown), (words, passage)


OWN = [
    "---\ntags: [zebra]\naliases: [Release plan]\n---\n\n# Plan\n\nwords\n", "---\n\nzebra\n\n---\n\nmore\n",
    "\ufeff---\ntags: zebra\n---\nx\n", "---\nsession: x\n---\nzebra\n\n## Mine\n\nlemur\n\n### Claude · 10:00\n\nwords\n",
    "zebra\n\n- a\n\n## One\n\nlemur\n\n# Two\n\nwords\n",
]  # fmt: skip


@each("text", OWN)
@each("is_recording", [False, True])
def test_what_a_search_finds_in_a_file_of_ones_own_is_found_in_a_section(text, is_recording):
    """Its front matter is a part of it, and its sections are the same."""
    shown = list(messages(sections_of([text], is_recording=is_recording)))
    found = list(markdown_passages([text], is_recording=is_recording))
    assert any("zebra" in passage.text for passage in found)
    for passage in found:
        assert any(place_in(message, Query(_words(passage))) is not None for message in shown), passage
    assert is_recording or len(found) == len(shown)
