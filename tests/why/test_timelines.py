"""Edits of several work trees of a repository."""

from katod.why import carry, trace
from katod.why.align import align
from katod.why.timelines import Timelines
from tests.why.history import HASHER, edit

_BASE = "import os\n\ndef total(cart):\n    return sum(cart)\n\ndef first(cart):\n    return cart[0]\n"
_TOTAL = ("    return sum(cart)\n", "    return float(sum(cart))\n")
_FIRST = ("    return cart[0]\n", "    return next(iter(cart), None)\n")
_LONG = (
    "    return sum(cart)\n",
    "    prices = [item.price for item in cart]\n    return sum(prices) + shipping(prices)\n",
)


def played(*steps):
    """Return who wrote each line here after versions (texts, None if deleted) and edits."""
    lines = Timelines()
    for step in steps:
        if step is None:
            lines.deleted()
        else:
            lines.version(HASHER.lines(step)) if isinstance(step, str) else lines.edit(step)
    return [row.cause.call if row.cause else "" for row in lines.rows]


def there(number, *changes):
    """Return an edit in another work tree."""
    return edit(number, *changes)._replace(tree="/there")


def changed(*changes):
    """Return the file after changes."""
    text = _BASE
    for old, new in changes:
        text = text.replace(old, new)
    return text


def test_what_is_done_in_another_work_tree_is_not_done_here():
    """Neither does it write a line here, nor is what was done here thrown away for it."""
    assert set(played(_BASE, there(1, _TOTAL), _BASE)) == {""}
    assert set(played(_BASE, there(1, (None, f"{_BASE}\nmore = compute(everything)\n")), _BASE)) == {""}
    found = played(_BASE, edit(1, _TOTAL), there(2, _FIRST), edit(3, _FIRST), changed(_TOTAL, _FIRST))
    assert (found[3], found[6]) == ("1", "3")


def test_it_is_here_once_a_version_was_made_of_it():
    """Of just that file, or of one that a person changed, too; also after versions of this work tree."""
    assert played(_BASE, there(1, _TOTAL), there(2, _FIRST), changed(_TOTAL, _FIRST))[3::3] == ["1", "2"]
    steps = (_BASE, there(1, _LONG), there(2, _FIRST))
    mixed = changed(_LONG, _FIRST).replace("import os", "import sys")
    assert played(*steps, mixed) == ["", "", "", "1", "1", "", "", "2"]
    assert played(*steps, _BASE + "mine\n", mixed + "mine\n")[3:8] == ["1", "1", "", "", "2"]
    assert (
        played(*steps, mixed, edit(3, _TOTAL[::-1]), there(4, (_FIRST[1], "    return head(cart)\n")), mixed)[7] == "2"
    )


def test_an_edit_that_a_version_has_as_a_whole_is_here_without_the_others():
    """They were thrown away there, or a person took the one."""
    assert played(_BASE, there(1, _LONG), there(2, _FIRST), changed(_FIRST))[6] == "2"
    assert set(
        played(_BASE, there(1, _LONG), _BASE, changed((_LONG[0], "    return sum(prices) + shipping(prices)\n")))
    ) == {""}


def test_the_first_version_of_a_branch_is_not_the_last_one():
    """After a rebase, all versions are later than the edits: the next one has what this one does not have yet."""
    more = "".join(f"    print(number_{number}, basket[{number}])\n" for number in range(8))
    large = (_LONG[0], _LONG[1] + more)
    block = (_FIRST[0], f"{_FIRST[0]}\ndef last(cart):\n    return cart[-1]\n")
    for small, wrote in ((_FIRST, 1), (block, 3)):
        steps = (_BASE, there(1, large), there(2, small), changed(large))
        assert [who for who in played(*steps) if who] == ["1"] * 10
        assert [who for who in played(*steps, changed(large, small)) if who] == [*["1"] * 10, *["2"] * wrote]
        assert played(*steps, changed(large) + "mine = 1\n")[-1] == ""


def test_one_version_may_have_all_of_a_branch_though_another_was_made_here_meanwhile():
    """As after a squash: with the edits from before that one. What was written here is not of the branch."""
    block = (_FIRST[0], _FIRST[0] + "".join(f"    print(weight_of_the_article({at}))\n" for at in range(4)))
    mine = ("import os\n", "import os\nmine = compute(everything)\n")
    for first, wrote in ((_TOTAL, 1), (_LONG, 2)):
        for here, who in ((), ""), ((edit(3, mine),), "3"):
            steps = (_BASE, there(1, first), *here, changed(mine), there(2, block))
            found = played(*steps, changed(mine, first, block))
            assert (found[1], found[:4].count("1")) == (who, 0)
            assert [one for one in found[2:] if one] == [*["1"] * wrote, *["2"] * 4]


_PORT = ("import os\n", "import os\nport = 1\n")
_BY_HAND = ("    return sum(cart)\n", "    return sum(cart) or 0\n")


def test_small_edits_are_known_wherever_a_person_committed_them_with_a_change():
    """In a clean work tree of the same commit as well: the next edit tells that the version was made there."""
    mixed = changed(_PORT, _BY_HAND)
    on_hand = (_BY_HAND[1], "    return fsum(cart)\n")
    for second in (on_hand, _FIRST):
        last = mixed.replace(*second)
        for made in (edit, there):
            found = played(_BASE, made(1, _PORT), mixed, made(2, second), last)
            assert [who for who in found if who] == ["1", "2"]


def test_what_was_not_there_when_a_version_was_made_is_not_of_its_edits():
    """The tree that edits went on in had not that version, or a call wrote the file as a person had left it."""
    by_hand = changed(_BY_HAND) + "mine = 1\n"
    assert set(played(_BASE, there(1, _PORT), by_hand, there(2, ("port = 1\n", "port = 2\n")), by_hand)) == {""}
    whole = by_hand + "theirs = compute(everything)\n"
    for text in (whole, whole.replace("os", "sys")):
        assert played(_BASE, there(1, _FIRST), by_hand, there(2, (None, whole)), text)[-2:] == ["", "2"]
    kept = (None, changed(_LONG, _FIRST) + "theirs = 1\n")
    found = played(_BASE, there(1, _LONG), changed(_BY_HAND), there(2, kept), kept[1])
    assert (found[3:5], found[7:]) == (["1", "1"], ["2", "2"])


def test_a_work_tree_that_is_never_merged_costs_little(monkeypatch):
    """Versions that have nothing of it are not compared with it, nor with what it waits for."""
    compared = list[int]()
    for module in (carry, trace):
        monkeypatch.setattr(module, "align", lambda *texts: compared.append(1) or align(*texts))

    def count(*edits):
        compared.clear()
        played(_BASE, *edits, *(f"{_BASE}person = {number}\n" for number in range(20)))
        return len(compared)

    others = [there(number, _LONG)._replace(tree=f"/there/{number}") for number in range(15)]
    assert count(*others) <= count() + 1
    assert played(_BASE, *others, _BASE, changed(_LONG))[3] == "0"


def test_nothing_comes_back_of_a_file_that_was_deleted():
    """What was done with it elsewhere was another file."""
    assert set(played(_BASE, there(1, _LONG), None, changed(_LONG))) == {""}
