"""The grammar of commands: which lines of typed text are commands, and how they are parsed."""

import string
from itertools import pairwise
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from katod.command.grammar import MOST_NEAR_MISSES, MOST_SHORT, WORDS, parse_line, parse_message
from katod.model import Command, NearMiss, Word
from tests.examples import texts
from tests.looping import each

SWITCHES = {
    "+thinking": ("thinking", True),
    "-thinking": ("thinking", False),
    "+tools": ("tools", True),
    "-tools": ("tools", False),
}


def commands(text):
    return [(command.word, command.name) for command in parse_message(text).commands]


# -- one line --------------------------------------------------------------------------------------


@each("word", WORDS)
def test_word_alone_is_a_command(word):
    """Each word is a command without a name."""
    assert parse_line(f"::{word}") == Command(word, line=f"::{word}")


@each("line", ["::START", "::Start", "::sTaRt"])
def test_case_of_the_word_does_not_matter(line):
    """A word is a command in any case."""
    assert parse_line(line).word == "start"


@each(
    ("typed", "name"),
    [
        ("auth", "auth"),
        ("Auth.MD", "Auth.MD"),
        ("notes/auth.md", "notes/auth.md"),
        ("~/x.md", "~/x.md"),
        ("/abs/x.md", "/abs/x.md"),
        ("it's", "it's"),
        ("日本語", "日本語"),
        ("c++", "c++"),
        ('"my notes"', "my notes"),
        ("'my notes'", "my notes"),
        ("`my notes`", "my notes"),
        ('"it\'s mine"', "it's mine"),
        ("'say \"hi\"'", 'say "hi"'),
        ('"auth"', "auth"),
        ('"+tools"', "+tools"),
        ("[my notes](notes/auth.md)", "notes/auth.md"),
        ("[](auth.md)", "auth.md"),
        ("[x](<my notes.md>)", "my notes.md"),
        ("[x](my notes.md)", "my notes.md"),
    ],
)
@each("word", ["start", "capture", "export"])
def test_name_is_one_bare_word_a_quotation_or_a_link(word, typed, name):
    """A name is taken literally, without its quotes, or as the target of a Markdown link."""
    assert parse_line(f"::{word} {typed}") == Command(word, name, (), f"::{word} {typed}")


@each("blank", [" ", "   ", "\t", " \t "])
def test_blanks_between_the_parts_do_not_matter(blank):
    """Spaces and tabs separate the word, the name and the options, in any number."""
    command = parse_line(f"::start{blank}auth{blank}+tools{blank}")
    assert (command.name, command.switches) == ("auth", (("tools", True),))


@each(("option", "switch"), SWITCHES.items())
@each("word", WORDS)
def test_option_stands_after_any_word(word, option, switch):
    """An option switches thinking or tools on or off."""
    assert parse_line(f"::{word} {option}").switches == (switch,)


@each("line", ["::start auth +thinking -tools", "::start +THINKING auth -Tools", "::start -tools +thinking auth"])
def test_options_and_name_stand_in_any_order_and_case(line):
    """However the parts are ordered, the command is the same."""
    command = parse_line(line)
    assert (command.name, dict(command.switches)) == ("auth", {"thinking": True, "tools": False})


def test_last_of_two_contrary_options_holds():
    """If an option is given twice, the last one counts."""
    assert parse_line("::start +tools -tools").switches == (("tools", False),)


@each(
    "line",
    [
        "::start please look",
        "::start auth notes",
        '::start "my notes" auth',
        '::start "my notes',
        "::start 'open",
        "::start `open",
        '::start ""',
        '::start "a"b',
        "::start a +tools b",
        "::stop auth",
        '::stop "auth"',
        "::restart",
        "::started",
        "::start-now",
        "::start:",
        "::start()",
        "::start, please",
        "::start\u00a0please",
        "::",
        "::start::stop",
        ":start",
        ":::start",
        ": :start",
        " ::start",
        "\t::start",
        "> ::start",
        "- ::start",
        "`::start`",
        "**::start**",
        "please ::start",
        "\u200b::start",
        "\ufeff::start",
        "\u02d0:start",
        "::\u017ftart",
        "::sta\u200brt",
    ],
)
def test_anything_else_is_ordinary_text(line):
    """With more than one bare word, an unknown word, or anything before the colons, a line is not a command."""
    assert parse_line(line) is None


# -- whole texts -----------------------------------------------------------------------------------


def test_several_commands_act_in_their_order():
    """Each command line of one message is a command."""
    assert commands("::start a\n::stop\ntext\n::export b") == [("start", "a"), ("stop", ""), ("export", "b")]


def test_text_stands_in_pieces_around_the_commands():
    """The text before, between and after the commands keeps its place."""
    parsed = parse_message("one\n\n::start\ntwo\n  three\n\n\n::stop\n\nfour\n")
    assert [piece.text or piece.command.word for piece in parsed.pieces] == [
        "one", "start", "two\n  three", "stop", "four",
    ]  # fmt: skip
    assert parsed.words == "one\ntwo\n  three\nfour"


def test_blank_lines_around_commands_are_no_piece():
    """Blank lines between two commands are not a piece of text."""
    assert len(parse_message("\n\n::start\n \n\t\n::stop\n").pieces) == 2


@each("text", ["", "\n", "hello", "a\n\nb\n", "std::cout << 1;\n"])
def test_text_without_commands_is_one_piece_as_it_is(text):
    """Text without commands is not changed, including blank lines at its ends."""
    assert "".join(piece.text for piece in parse_message(text).pieces).strip() == text.strip()
    assert parse_message(text).commands == []


def test_crlf_text_commands_like_any_other():
    """Text with carriage returns contains the same commands, and their lines end before the return."""
    parsed = parse_message("one\r\n::start auth\r\ntwo\r\n::stop\r\n")
    assert [command.line for command in parsed.commands] == ["::start auth", "::stop"]
    assert parsed.near_misses == ()


@each(
    ("opening", "closing"),
    [
        ("```", "```"), ("```bash", "```"), ("~~~", "~~~"), ("~~~ `x`", "~~~"), ("````", "````"), ("````", "`````"),
        ("   ```", "```"), ("```", "   ```  "), ("```\r", "```\r"), ("~~~~ ```", "~~~~"),
    ],
)  # fmt: skip
def test_command_inside_a_code_fence_is_code(opening, closing):
    """A line in a fence is not a command; a line after it can be."""
    assert commands(f"{opening}\n::start inside\n{closing}\n::start behind") == [("start", "behind")]


@each("inner", ["~~~", "``", "```bash", "``` x", "    ```"])
def test_fence_is_closed_only_by_its_own_kind(inner):
    """A shorter run, another character, words after it or a deep indent do not close a fence."""
    assert commands(f"```\n{inner}\n::start inside\n```\n::stop") == [("stop", "")]


def test_longer_fence_holds_shorter_ones():
    """A fence inside a longer fence is part of the code."""
    assert commands("````\n```\n::start\n```\n::start\n````\n::stop") == [("stop", "")]


def test_unclosed_fence_holds_all_that_follows():
    """After a fence that is never closed, everything is code."""
    assert commands("::start\n```\n::stop\n\n::export") == [("start", "")]


@each("line", ["``` `x`", "```a`b", "    ```", "``", "> ```", "text ```"])
def test_what_is_no_fence_hides_nothing(line):
    """Inline code, a deep indent or a fence inside a line opens no fence."""
    assert commands(f"{line}\n::start") == [("start", "")]


# -- near misses -----------------------------------------------------------------------------------


@each(
    ("text", "found"),
    [
        ("::start please look", [("extra words", "start")]),
        ("::strat auth", [("misspelt", "start")]),
        ("::Stopp", [("misspelt", "stop")]),
        ("::record notes", [("of another tool", "start")]),
        ("::init", [("of another tool", "start")]),
        ("::captrue", [("misspelt", "capture")]),
        ("::capturrre", [("misspelt", "capture")]),
        ("::expotr it", [("misspelt", "export")]),
        ("::stop now\n::foo\ntext", [("extra words", "stop")]),
        ("::start\n::stop it now", [("extra words", "stop")]),
        ("  ::start", [("indented", "start")]),
        (":: stop", [("indented", "stop")]),
        ("::start +thinknig", [("unknown option", "start")]),
        ("::start --tools", [("unknown option", "start")]),
        ("text ::start", []),
        ("::\n  indented\n:: x", []),
        ("```\n::strat\n```", []),
        ("::stamp", []),
        ("::starting", []),
        ("::std::cout", []),
        ("::start", []),
    ],
)
def test_a_line_that_looks_like_a_command_is_a_near_miss(text, found):
    """It is known what is wrong with it and which command it resembles; other text with colons is none."""
    assert [(miss.kind, miss.word) for miss in parse_message(text).near_misses] == found


def misspelt(word):
    """Return a word with one mistake, of every kind and in every place: a letter missing, twice, wrong, or swapped."""
    for at, letter in enumerate(word):
        yield f"{word[:at]}{word[at + 1 :]}"
        yield f"{word[:at]}{letter}{word[at:]}"
        yield f"{word[:at]}q{word[at + 1 :]}"
        yield f"{word[:at]}{word[at + 1 : at + 2]}{letter}{word[at + 2 :]}"


@each("word", get_args(Word))
def test_one_mistake_is_a_near_miss_wherever_it_is(word):
    """A command is recognised with one letter that is wrong, missing, too many, or in the place of the next one."""
    wrong = {text for text in misspelt(word) if text != word}
    found = {text: [(miss.kind, miss.word) for miss in parse_message(f"::{text}").near_misses] for text in wrong}
    assert found == {text: [("misspelt", word)] for text in wrong}


def test_words_that_are_too_far_from_a_command_are_none():
    """Whatever letters of a command they have: two mistakes in a short one, three in a long one."""
    words = [
        "sp",
        "tpo",
        "tos",
        "ast",
        "sta",
        "atsrt",
        "stoppp",
        "sttoop",
        "captu",
        "cptu",
        "axporrt",
        "xe",
        "capturerrr",
    ]
    found = {word: [miss.word for miss in parse_message(f"::{word}").near_misses] for word in words}
    assert {word: misses for word, misses in found.items() if misses} == {"captu": ["capture"], "axporrt": ["export"]}


def test_a_message_has_few_near_misses():
    """Of a pasted log full of them, no more are kept than a person would read."""
    assert len(parse_message("::strat\n" * 1_000).near_misses) == MOST_NEAR_MISSES


@each("minus", ["-", "\u2013", "\u2014"])
def test_a_dash_is_a_minus(minus):
    """Keyboards turn the minus of an option into a dash."""
    assert parse_message(f"::start {minus}thinking").commands[0].switches == (("thinking", False),)


# -- pasted text -----------------------------------------------------------------------------------


def test_a_pasted_line_is_no_command():
    """It is a near miss; a line of the same message that was typed is executed."""
    text = "look:\n::stop\n::start here"
    parsed = parse_message(text, ((6, 13),))
    assert [command.line for command in parsed.commands] == ["::start here"]
    assert [(miss.kind, miss.word) for miss in parsed.near_misses] == [("pasted", "stop")]


def test_the_pieces_of_a_message_know_what_of_them_is_pasted():
    """The spans are those of the piece, not of the message."""
    text = "::start\ntyped\npasted\n::stop\nmore pasted"
    parsed = parse_message(text, ((14, 20), (33, 39)))
    pieces = [(piece.text, piece.pasted) for piece in parsed.pieces if piece.command is None]
    assert pieces == [("typed\npasted", ((6, 12),)), ("more pasted", ((5, 11),))]


PASTED = {
    "C++": """#include <iostream>
::std::cout << "hi";
::testing::InitGoogleTest(&argc, argv);
::start(server);
::Export::run();
using ::stop;""",
    "Ruby": """::Rails.logger.info "x"
::Start.new(1)
::Export::Job.perform_later
class ::Capture < Base; end""",
    "Rust": "::std::mem::swap(&mut a, &mut b);\n::start::<u8>();",
    "reST": """Example
=======

::

    ::start indented

.. code-block:: bash

   ::stop

A paragraph::

:start: here
::start of a definition list
""",
    "PHP": "::start;\n::stop();",
    "CSS": "::selection { color: red }\n::start-marker {}",
    "IPv6": "::1 localhost\n::ffff:127.0.0.1",
    "Haskell": "start\n  :: Int -> IO ()\n:: start",
}


@each("text", PASTED.values(), ids=PASTED)
def test_pasted_code_commands_nothing(text):
    """Code and markup full of colons is ordinary text and not changed."""
    parsed = parse_message(text)
    assert parsed.commands == []
    assert "\n".join(piece.text for piece in parsed.pieces).strip() == text.strip()


@each("text", PASTED.values(), ids=PASTED)
def test_pasted_code_voids_no_command(text):
    """A command next to pasted code is carried out."""
    assert commands(f"::start auth\n{text}\n::stop") == [("start", "auth"), ("stop", "")]


# -- properties ------------------------------------------------------------------------------------

LINES = st.sampled_from(
    [
        "", " ", "\r", "text", "  indented", "```", "~~~", "````", "    ```", "::start", "::stop", "::START auth\r",
        "::export 'a b' +tools", "::start please look", "::std::cout", " ::start", "::capture [a](b.md)  ", "\u2028",
        "a\x0b::start", "::start\u2028",
    ]
)  # fmt: skip
TEXTS = st.lists(LINES | texts(max_size=12).map(lambda t: t.replace("\n", "")), max_size=14).map("\n".join)


def solid(text):
    """Return the lines that are not blank, without trailing blanks."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


@given(TEXTS)
def test_pieces_together_are_the_text(text):
    """Text and command lines, in order, are the lines that were typed: nothing is lost or moved."""
    pieces = parse_message(text).pieces
    assert solid("\n".join(piece.command.line if piece.command else piece.text for piece in pieces)) == solid(text)


@given(TEXTS)
def test_pieces_are_parsed_to_themselves(text):
    """A command line on its own is the same command, and two texts are never adjacent."""
    pieces = parse_message(text).pieces
    for piece in pieces:
        assert (piece.command is None) != (piece.text == "") or text.strip() == ""
        assert piece.command is None or parse_line(piece.command.line) == piece.command
    assert not any(one.command is two.command is None for one, two in pairwise(pieces))


@given(st.sampled_from(["start", "capture", "export"]), texts(min_size=1).filter(str.strip), st.sampled_from("\"'`"))
def test_any_quoted_name_comes_back(word, name, quote):
    """Anything between quotes is the name, as long as it fits on the line."""
    name = "".join(c for c in name if c not in f"{quote}\n\r") or "x"
    command = parse_line(f"::{word} {quote}{name}{quote} +thinking")
    assert (command.word, command.name, command.switches) == (word, name, (("thinking", True),))


# -- agents that do not mark what is pasted ----------------------------------------------------------


def unmarked(text):
    """Return what is parsed of a message of an agent that does not mark what is pasted."""
    return parse_message(text, marks_pastes=False)


@each(
    ("before", "after", "acts"),
    [
        (0, 99, True),
        (1, 99, True),
        (2, 99, False),
        (99, 2, False),
        (99, 1, True),
        (99, 0, True),
        (3, 4, True),
        (4, 4, False),
    ],
)
def test_command_counts_at_the_ends_of_a_long_message(before, after, acts):
    """In a message of more than eight lines, a command counts in its first two and its last two lines."""
    parsed = unmarked("\n".join([*["text"] * before, "::stop", *["text"] * after]))
    assert [command.word for command in parsed.commands] == (["stop"] if acts else [])
    assert parsed.near_misses == (() if acts else (NearMiss("inside", "stop"),))


def test_blank_lines_are_no_end_of_a_message():
    """Blank lines around a message, and between its lines, are not counted among the lines at its ends."""
    assert unmarked("\n \n\ntitle\n\n::start\n" + "text\n" * 9 + "\n\n").commands
    assert unmarked("\n" * 9 + "one\ntwo\n::start\n" + "text\n" * 5 + "\n" * 9).commands
    assert not unmarked("one\ntwo\n::start\n\n\n\n\nthree\nfour\n").commands


@given(st.lists(st.sampled_from(["::start", "::stop", "::strat", "text", "", "  ", "```", " ::stop"]), max_size=30))
def test_position_alone_tells_a_command_from_what_may_be_pasted(rows):
    """Of the lines that are commands elsewhere, exactly those at the ends of a long message count; no text is lost."""
    text = "\n".join(rows)
    filled = [n for n, row in enumerate(rows) if row.strip()]
    is_short = not filled or filled[-1] - filled[0] < MOST_SHORT
    ends = range(len(rows)) if is_short else {*filled[:2], *filled[-2:]}
    commands, fence = [], False
    for n, row in enumerate(rows):
        fence ^= row == "```"
        if row in ("::start", "::stop") and not fence and n in ends:
            commands.append(row[2:])
    parsed = unmarked(text)
    assert [command.word for command in parsed.commands] == commands
    lines = [
        line for piece in parsed.pieces for line in (piece.command.line if piece.command else piece.text).split("\n")
    ]
    assert [line for line in lines if line.strip()] == [row for row in rows if row.strip()]


@each("first", [*string.ascii_letters, *string.digits, "_", ".", "/", "~", "é", "文", "*", ":"])
def test_a_name_may_begin_with_any_letter(first):
    """What a quotation or an option begins with is none: something is missing there."""
    for name in (first, f"{first}x"):
        assert parse_line(f"::start {name}") == Command("start", name, (), f"::start {name}")


@each("first", ['"', "'", "`", "+", "-", "\u2013", "\u2014"])
def test_a_malformed_quotation_or_option_is_no_name(first):
    """The line is text."""
    assert parse_line(f"::start {first}x") is None
