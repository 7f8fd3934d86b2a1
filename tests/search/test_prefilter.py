"""The filter of bytes: whatever the script, the case and the escapes, no line with the words is kept back."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.search.folding import unfolded
from katod.search.prefilter import FoldingTable, lines_around, probes_of
from katod.search.query import Query
from tests.examples import examples

SCRIPTS = {
    "latin": "aeiksßüéå\u0131ł\u017f\u212a\u0130ǆȺŉ -",
    "cyrillic": "абвгдпрстяёѐҐᲀ",
    "greek": "αλσςΣωΩΩµμΐθϴᾳ",
    "kana and kanji": "のにはカタ日本語検索々",
    "right to left": "שלוםךمرحباًة",
    "beyond the first plane": "😀👩\U0001f3fd𐐀𐐨𞤀𞤢",
}
SCRIPT = st.sampled_from(sorted(SCRIPTS))
CHANCE = st.randoms(use_true_random=False)


def _cased(word, chance):
    """Return a folded word with each letter in any of its cases."""
    return "".join(chance.choice(unfolded(char)) for char in word)


def _json(text, chance, share):
    """Return JSON in which a share of the characters is escaped, with hex digits of both cases."""
    return f'{{"text":"{"".join(_char(char, chance, share) for char in text)}"}}'


def _char(char, chance, share):
    written = json.dumps(char, ensure_ascii=chance.random() < share)[1:-1]
    return (
        written[:2] + written[2:].upper()
        if written[:2] == "\\u" and len(written) == 6 and chance.random() < 0.5
        else written
    )


@examples(20, 400)
@given(st.data(), SCRIPT, SCRIPT, CHANCE, st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 2))
def test_no_line_that_matches_is_kept_back(data, script, other, chance, share, depth):
    """In six scripts, in any case, raw, escaped or both in one word, also as JSON in strings of JSON."""
    letters = st.text(st.sampled_from(SCRIPTS[script] + "x7 "), min_size=1, max_size=8)
    query = Query([data.draw(letters), data.draw(letters)], whole=False)
    around = data.draw(st.text(st.sampled_from(SCRIPTS[other]), max_size=8))
    text = around.join(["", *(_cased(word, chance) for word in query.words), ""])
    if not query.words:
        return
    assert query.matches(text)
    line = _json(text, chance, share)
    for _ in range(depth):
        line = json.dumps(line, ensure_ascii=chance.random() < share)
    lines = f"{{}}\n{line}\n{{}}\n".encode()
    assert list(query.lines(lines)) == [(3, len(lines) - 4)] or len(query.words[0]) < 3
    assert query.may_be_in(lines)


@pytest.mark.parametrize("word", ["привет", "größe", "日本語", "σῶμα", "😀😁", "åäö", "שלום"])
def test_lines_that_lack_a_word_are_left_out(word):
    """Neither letters of the same script nor escapes of them are enough."""
    other = {char: chr(ord(char) ^ 3) for char in word if not char.isascii()}
    changed = word.translate({ord(char): same for char, same in other.items()})
    for ascii_only in (True, False):
        found = json.dumps("".join(unfolded(char)[-1] for char in word), ensure_ascii=ascii_only).encode() + b"\n"
        missed = json.dumps(changed, ensure_ascii=ascii_only).encode() + b"\n"
        assert [*Query([word]).lines(missed + found + missed)] == [(len(missed), len(missed + found) - 1)]


@pytest.mark.parametrize("words", [["привет", "tail"], ["日本", "tail", "мир"]])
def test_words_of_one_line_are_found_in_each_line_that_has_all(words):
    """A word that is missing in one line is looked for in the next lines, however far the others are away."""
    full = " ".join(words)
    lines = [full, words[0], words[-1], *["-"] * 3, words[0], full, words[-1], full]
    data = "".join(f'"{line}"\n' for line in lines).encode()
    found = [data[begin:end].decode().strip('"') for begin, end in Query(words).lines(data)]
    assert found == [full] * 3


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ([("мир", "tail")], "1356"),
        ([("мир", "tail"), "日本"], "356"),
        ([("мир", "tail"), ("日本", '"')], "1356"),
        ([("absent", "日本")], "356"),
        ([("absent", "none"), "tail"], ""),
    ],
)
def test_one_of_several_words_is_enough(groups, found):
    """In whatever order they are, and if there are none of some."""
    texts = ["-", "мир", "-", "tail 日本", "-", "日本 Мир tail", json.dumps("日本 МИР")[1:-1], "-"]
    data = "".join(f'"{text}"\n' for text in texts).encode()
    lines = data.split(b"\n")
    assert "".join(str(lines.index(data[begin:end])) for begin, end in Query(groups).lines(data)) == found


class _Counted(bytes):
    """Bytes that count how often they are searched through to their end."""

    def __new__(cls, data):
        self = super().__new__(cls, data)
        self.passes = 0
        return self

    def find(self, *given):
        at = super().find(*given)
        self.passes += at < 0
        return at


def test_hundreds_of_ids_that_begin_alike_are_looked_for_once():
    """Their beginning is; each of them is found, and no other one, whether or not they are of one length."""
    ids = [f"toolu_01{number:x}" for number in range(7, 900, 3)]
    words = [*ids, "call_one", "call_two", "other"]
    [probe] = probes_of([words], FoldingTable.of_words(words))
    assert probe.length == len("other")
    for sought in (ids[5], ids[-1], "call_two", "other"):
        data = _Counted(b"toolu_02 call_none toolu_01! " + sought.encode())
        assert probe.within(data)(0).at == data.rindex(b" ") + 1
    data = _Counted(b"toolu_01! toolu_01 call_none " * 9)
    assert probe.within(data)(0).at == -1
    assert data.passes == 3


@examples(50, 500)
@given(st.lists(st.text("ab", min_size=1, max_size=7), min_size=1, max_size=9), st.text("ab \n", max_size=60))
def test_any_of_several_words_is_found_where_the_first_is(words, text):
    """As if each of them was looked for alone."""
    [probe] = probes_of([words], FoldingTable.of_words(words))
    alone = [at for word in words if (at := text.find(word)) >= 0]
    assert probe.within(text.encode())(0).at == min(alone, default=-1)


def test_what_is_looked_for_is_long_and_written_in_one_way():
    """Of a word, a run of plain ASCII, else one with letters beyond it; a pattern only for what has neither."""
    for word, length in (
        ("naïve-bayes", len("ve-bayes")),
        ("größe", len("größe".encode())),
        ("日本語文字列検索", len("日本語文字列検索".encode())),
        ("é" * 100, 2 * 64),
        ("ab", 2),
        ("é", 2),
        ('a"é', 0),
        ('"', 0),
    ):
        [probe] = probes_of([[word]], FoldingTable.of_words([word]))
        assert probe.length == length, word


def test_rare_words_are_looked_for_first():
    """A long one before a short one, and one that needs a pattern last; of several, the shortest counts."""
    words = ['"', "tail", "größe", ("abcdefghi", "xyz")]
    groups = [(word,) if isinstance(word, str) else word for word in words]
    probes = probes_of(groups, FoldingTable.of_words(word for group in groups for word in group))
    assert [probe.length for probe in probes] == [7, 4, 3, 0]


def test_letters_are_looked_for_as_bytes(monkeypatch):
    """The slow pattern is not used where nothing is escaped, nor in escaped lines of other letters."""
    monkeypatch.setattr("katod.search.prefilter._pattern", lambda *_: None)
    table = FoldingTable.of_words(["привет", "größe"])
    lines = ["Привет и GRÖSSE", json.dumps("Утро"), "größe"]
    data = table.fold("\n".join(lines).encode())
    assert [probe.within(data)(0).at for probe in probes_of([["привет"], ["größe"]], table)] == [
        0,
        len("\n".join(lines).encode()) - len("größe".encode()),
    ]


@pytest.mark.parametrize("word", ["привет", "naïve", "日本語文字列検索", "😀", "\u00e9", 'a "é'])
def test_short_and_long_words_are_found_alone(word):
    """A word of one letter is found, and one of which only a part is looked for as bytes."""
    for ascii_only in (True, False):
        assert Query([word]).may_be_in(json.dumps(f"x{word}x", ensure_ascii=ascii_only).encode())
        assert Query([word]).may_be_in(json.dumps(f"{word}", ensure_ascii=ascii_only).encode()[1:])


@pytest.mark.parametrize("word", ["\udce9", "gr\udcf6\udcdfe", '"\udce9"'])
def test_a_word_that_is_no_text_is_not_found(word):
    """A shell passes bytes that are no UTF-8 on: no file has them, and nothing fails."""
    query, data = Query([word]), b'{"text": "plain"}\n'
    assert list(query.lines(data)) == []
    assert not query.matches("plain")
    for form in (query.may_be_in_text, query.may_be_in_page):
        form(data)


def test_each_line_around_a_needle_is_named_once():
    """The last line may lack its newline."""
    assert list(lines_around(b"a b a\nb\na", re.compile(b"a"))) == [(0, 5), (8, 9)]
    assert list(lines_around(b"b", re.compile(b"a"))) == []
