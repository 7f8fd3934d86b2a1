"""Looking for commands in the raw lines of an unrecorded session."""

import json
from typing import get_args
from unittest import mock

from katod.command import scan
from katod.model import START, Identity, NearMiss, SessionKey, Word
from katod.tail.decode import frame
from katod.tail.reader import Batch
from tests.looping import each

CLAUDE = Identity(SessionKey("claude", "s"))
CODEX = Identity(SessionKey("codex", "s"))


def find_command(identity, found):
    """Return the first command in these lines, scanned as they are in their file."""
    data = b"".join(line.data + b"\n" for line in found)
    return scan.find_command(identity, Batch(data, found[0].offset if found else 0, START, more=False))


def plain(found):
    """Return the line without its decoded records, and the near misses."""
    line, near_misses = found
    return line._replace(records=()), near_misses


def claude(text, **more):
    return {"type": "user", "uuid": "u", "message": {"role": "user", "content": text}, **more}


def codex(text):
    return {"type": "event_msg", "payload": {"type": "user_message", "message": text}}


def lines(*records):
    return frame(b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in records), 0)


@each(("identity", "record"), [(CLAUDE, claude), (CODEX, codex)])
def test_first_line_with_a_command_is_found(identity, record):
    """The first line with a typed command is returned, none before it."""
    found = lines(record("hello"), record("now\n::start auth"), record("::stop"))
    assert plain(find_command(identity, found)) == (found[1], [])


@each("word", ["::START", "::Stop", "::cApTuRe", "::export"])
def test_case_does_not_matter(word):
    """The search finds a word in any case."""
    found = lines(claude(word))
    assert plain(find_command(CLAUDE, found))[0] == found[0]


def test_line_breaks_of_json_are_line_breaks():
    r"""A command after an escaped `\n` is at the beginning of its line."""
    assert find_command(CLAUDE, lines(b'{"type":"user","message":{"content":"a\\n::stop\\nb"}}\n'))[0] is not None


@each(
    "record",
    [
        claude("please ::start it"),
        claude("```\n::start\n```"),
        claude("std::cout"),
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "::start"}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": "::start"}]}},
        claude("::start", isMeta=True),
        claude("::start", isSidechain=True),
        {"type": "summary", "summary": "::start"},
        b"::start\n",
        b'{"torn":"::start\n',
    ],
)
def test_other_text_is_no_command(record):
    """Text that was not typed, or is not a complete command line, is skipped."""
    assert find_command(CLAUDE, lines(record))[0] is None


def test_near_misses_before_the_command_are_counted():
    """Lines of typed text that look like commands are counted up to the line that is found."""
    found = lines(claude("::start please look"), claude("::start"), claude("::start please look"))
    assert plain(find_command(CLAUDE, found)) == (found[1], [NearMiss("extra words", "start")])
    assert find_command(CLAUDE, found[:1]) == (None, [NearMiss("extra words", "start")])


def test_sub_agents_are_not_searched():
    """Nothing in a sub-agent's thread is a command."""
    identity = Identity(SessionKey("claude", "s", "a1"))
    assert find_command(identity, lines(claude("::start"))) == (None, [])


def test_lines_without_a_command_word_are_not_decoded():
    """Scanning a session requires no decoding: the bytes suffice."""
    with mock.patch.object(scan, "decode", side_effect=AssertionError("decoded")):
        found = find_command(CLAUDE, lines(claude("hello"), claude("std::cout << x"), claude("Ruby ::Module")))
    assert found == (None, [])


def test_no_lines_hold_no_command():
    """An empty batch finds nothing."""
    assert find_command(CLAUDE, []) == (None, [])


@each("text", ["  ::start", ":: stop", "hello\n\t::capture it", "::strat", "::record", "  ::init notes"])
def test_near_misses_are_found_in_the_raw_bytes(text):
    """An indented command or a misspelt one is decoded and named, although it begins no line like a command."""
    found, near_misses = find_command(CLAUDE, lines(claude(text)))
    assert found is None
    assert len(near_misses) == 1


@each("word", get_args(Word))
def test_each_command_is_noticed_if_it_is_indented_or_misspelt(word):
    """A word that was added is among those that are looked for in the raw bytes."""
    for text in (f"  ::{word}", f":: {word}", f"::{word}{word[-1]}"):
        _, near_misses = find_command(CLAUDE, lines(claude(text)))
        assert [miss.word for miss in near_misses] == [word], text


def test_a_pasted_command_is_no_command():
    """Text that the client marks as pasted is not searched for commands, what is typed beside it is."""
    pasted = '\n\n<pasted_content id="9e96">\na\n::stop\nb\n</pasted_content id="9e96">\n'
    assert find_command(CLAUDE, lines(claude(pasted))) == (None, [NearMiss("pasted", "stop")])
    assert find_command(CLAUDE, lines(claude(f"{pasted}::stop")))[0] is not None


def test_a_command_inside_a_long_message_is_found():
    """The place of a command in its message is not judged here, as a record may have more text than the message."""
    found = lines(codex("\n".join(["text"] * 9 + ["::stop"] + ["text"] * 9)))
    assert find_command(CODEX, found)[0] is not None


def test_the_line_comes_decoded():
    """The records of the line can be used as they are: the line is decoded once."""
    line, _ = find_command(CLAUDE, lines(claude("::start")))
    assert [record.value["message"]["content"] for record in line.records] == ["::start"]


def test_rows_of_a_database_are_scanned_like_the_lines_of_a_file():
    """A batch that was put together of lines, and is no part of a file, is searched line by line."""
    found = lines(claude("hello"), claude("::strat"), claude("now\n::start auth"), claude("::stop"))
    batch = Batch(b"", 0, START, more=False, lines=found)
    line, near_misses = plain(scan.find_command(CLAUDE, batch))
    assert line == found[2]
    assert near_misses == [NearMiss("misspelt", "start")]
    assert scan.find_command(CLAUDE, Batch(b"", 0, START, more=False, lines=found[:1])) == (None, [])
