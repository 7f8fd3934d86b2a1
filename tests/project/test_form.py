"""What a project's file may say: the table of what counts and what is refused, and that it never shows more."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.config import ContentSettings, OutputSettings, Settings
from katod.errors import ConfigError
from katod.project.form import LARGEST, ProjectFile, parse_project
from tests.examples import texts
from tests.looping import each

PATH = Path("/home/me/shop/.katod.toml")
NOT_HERE = "can only be set in your own configuration"
LEAST_FIRST = ("none", "summary", "full")


def parsed(text):
    return parse_project(text.encode(), PATH)


@each(
    ("text", "changes"),
    [
        ("", {}),
        ("# only a comment .................................................. of many dots", {}),
        ('[output]\nformat = "jsonl"', {"format": "jsonl"}),
        ('[output]\nformat = "markdown"', {"format": "markdown"}),
        ('[output]\ndirectory = "docs/chats"', {"directory": ("docs", "chats")}),
        ('[output]\ndirectory = "./docs/"', {"directory": ("docs",)}),
        ("[recording]\nexclude = true", {"exclude": True}),
        ("[content]\nthinking = false", {"hides_thinking": True}),
        ('[content]\ntools = "summary"', {"tools": "summary"}),
        ('[content]\ntools = "none"', {"tools": "none"}),
        ('output.directory = "a"\ncontent.thinking = false', {"directory": ("a",), "hides_thinking": True}),
    ],
)
def test_what_a_project_may_choose_counts(text, changes):
    """Format, a directory inside the project, and less than is configured."""
    assert parsed(text) == ProjectFile(PATH, **changes)


@each(
    ("text", "reason"),
    [
        ("[recording]\nauto = true", f"line 2: `recording.auto` {NOT_HERE}"),
        ('[recording]\nauto = ["*"]', NOT_HERE),
        ("[recording]\nsubagents = true", NOT_HERE),
        ("[recording]\nexclude = false", "a project may only exclude itself"),
        ('[recording]\nexclude = ["~/x"]', "`recording.exclude` must be true or false"),
        ("[content]\nredact = false", f"`content.redact` {NOT_HERE}"),
        ("[content]\nthinking = true", "a project may only leave thinking out"),
        ('[content]\ntools = "full"', "a project may only show less"),
        ('[content]\ntools = "loud"', "must be one of none, summary, full"),
        ("[content]\nmax_result = 0", NOT_HERE),
        ('[content]\nattachments = "save"', NOT_HERE),
        ('[output]\nfilename = "x"', NOT_HERE),
        ('[output]\nallowed_roots = ["/"]', NOT_HERE),
        ('[output]\nformat = "html"', "must be one of markdown, jsonl"),
        ("[output]\nformat = []", "must be one of markdown, jsonl"),
        ("[output]\ndirectory = 1", "must be a string"),
        ('[output]\ndirectory = ""', "empty component"),
        ('[output]\ndirectory = "."', "empty component"),
        ('[output]\ndirectory = ".."', "`.` or `..`"),
        ('[output]\ndirectory = "../../.ssh"', "`.` or `..`"),
        ('[output]\ndirectory = "docs/../../x"', "`.` or `..`"),
        ('[output]\ndirectory = "/etc"', "inside the project"),
        ('[output]\ndirectory = "~/x"', "inside the project"),
        ('[output]\ndirectory = ".git/hooks"', "hidden"),
        ('[output]\ndirectory = "docs/.ssh"', "hidden"),
        ('[output]\ndirectory = "a//b"', "empty component"),
        ('[output]\ndirectory = "a\\\\b"', "backslash"),
        ('[output]\ndirectory = "a\\u0000b"', "control character"),
        ('[output]\ndirectory = "a\\nb"', "control character"),
        ('[output]\ndirectory = "$HOME"', "control character, a backslash or a $"),
        ('[output]\ndirectory = "C:/x"', "drive letters"),
        ('[agents.claude]\nroots = ["/"]', f"`agents` {NOT_HERE}"),
        ("[watch]\nuse_events = false", f"`watch` {NOT_HERE}"),
        ('[log]\nlevel = "debug"', f"`log` {NOT_HERE}"),
        ("output = 1", "`output` must be a table"),
        ("[[content]]\nthinking = false", "`content` must be a table"),
        ("[outptu]\nx = 1", "unknown key `outptu` (did you mean `output`?)"),
        ("[output]\ndirectroy = 'x'", "line 2: unknown key `output.directroy` (did you mean `directory`?)"),
        ("x = 1", "unknown key `x`"),
    ],
)
def test_everything_else_is_refused_and_the_rest_counts(text, reason):
    """The reason names line and key; what stands beside it counts."""
    for rest in ("", '\n[content]\ntools = "none"') if "content" not in text else ("",):
        found = parsed(text + rest)
        assert len(found.refused) == 1
        assert reason in found.refused[0]
        assert found == ProjectFile(PATH, tools="none" if rest else None, refused=found.refused)


@each(
    "data",
    [
        b"[output", b"\xff", b"\x00", b"a = \x00", b"a" * 100, b"\xef\xbb\xbf" * 2 + b"[output]", b"a = 1\na = 2",
        b"a=" + b"[" * 60_000, b"a=" + b"{a=" * 20_000, b"a." * 32_000 + b"a=1", b"[" + b"a." * 32_000 + b"a]",
        b"a=" + b"9" * 65_000,
    ],
)  # fmt: skip
def test_what_is_no_toml_raises_an_error_that_names_the_file(data):
    """Nothing of it counts, and it does not take long: the time to parse a dotted key grows with its square."""
    with pytest.raises(ConfigError) as caught:
        parse_project(data, PATH)
    assert str(caught.value).startswith(str(PATH))


def test_a_byte_order_mark_says_nothing():
    """Some editors begin a file with one."""
    text = "[recording]\nexclude = true\n"
    assert parsed(f"\ufeff{text}") == parsed(text)
    assert parsed(f"\ufeff{text}").exclude


def test_very_many_mistakes_are_counted():
    """A few are listed, the others counted, and what follows them counts."""
    many = "".join(f"k{number}=1\n" for number in range(5_000))
    found = parsed(f"{many}[content]\nthinking = false")
    assert (len(found.refused), found.refused[-1], found.hides_thinking) == (21, "4980 more", True)
    assert len(many) < LARGEST


@pytest.mark.slow
def test_a_long_key_is_cut():
    """A reason fits a few lines."""
    [reason] = parsed(f'"{"k" * 60_000}" = 1').refused
    assert len(reason) < 400


@each(
    ("text", "words"),
    [
        ("", ["nothing changes"]),
        ("[recording]\nexclude = true", ["nothing is recorded, not even on command"]),
        (
            '[output]\ndirectory = "docs/chats"\nformat = "jsonl"',
            [
                "transcripts are written to docs/chats/, inside the project",
                "transcripts are JSONL, with all thinking and all that tools returned",
            ],
        ),
        (
            'content = {thinking = false, tools = "none"}',
            ["Markdown shows no thinking", "Markdown shows no tool calls"],
        ),
    ],
)
def test_it_is_said_in_words_what_changes(text, words):
    """Also that JSONL has more than a transcript shows."""
    assert parsed(text).changes() == words


VALUES = (
    st.booleans() | st.sampled_from(["none", "summary", "full", "markdown", "jsonl", "../x", "/etc", "docs", ".git"])
    | st.integers(-1, 3) | texts(max_size=4)
)  # fmt: skip
KEYS = st.sampled_from(["thinking", "tools", "redact", "max_result", "usage", "format", "directory", "auto", "exclude"])
FILES = st.dictionaries(
    st.sampled_from(["content", "output", "recording", "agents"]), st.dictionaries(KEYS, VALUES, max_size=6), max_size=4
)
CONTENTS = st.builds(
    ContentSettings, st.booleans(), st.sampled_from(LEAST_FIRST), redact=st.booleans(), usage=st.booleans()
)


def as_toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'


@pytest.mark.fault("file of a project")
@given(FILES, CONTENTS)
def test_whatever_it_says_no_more_is_shown_than_configured(tables, content):
    """Thinking and tools only become less, a format is the only other change, and a directory is inside."""
    text = "".join(
        f"[{table}]\n" + "".join(f"{key} = {as_toml(value)}\n" for key, value in keys.items())
        for table, keys in tables.items()
    )
    before = Settings(OutputSettings(), content=content)
    file = parsed(text)
    after = file.reduced(before)
    assert after.content.thinking <= content.thinking
    assert LEAST_FIRST.index(after.content.tools) <= LEAST_FIRST.index(content.tools)
    same = content._replace(thinking=after.content.thinking, tools=after.content.tools)
    assert after == Settings(OutputSettings(format=after.output.format), content=same)
    assert after.output.format in ("markdown", "jsonl")
    assert not any(part in ("", ".", "..") or part.startswith((".", "~")) or "/" in part for part in file.directory)
