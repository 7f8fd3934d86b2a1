"""Which edit last wrote a line, after whatever else happened to the file."""

from hypothesis import given
from hypothesis import strategies as st

from katod.why.trace import Trace
from tests.looping import each
from tests.why.history import HASHER, History, change, edit

_BASE = "import os\n\ndef total(cart):\n    return sum(cart)\n"
_MORE = "def total(cart):\n    prices = [item.price for item in cart]\n    return sum(prices)\n"
_OLD = "def total(cart):\n    return sum(cart)\n"


def played(*steps):
    """Return who wrote each line after versions (texts, None if deleted) and edits, each as the number of an edit, `~` if followed."""
    trace = Trace()
    for step in steps:
        if step is None:
            trace.deleted()
        else:
            trace.version(HASHER.lines(step)) if isinstance(step, str) else trace.edit(step)
    marks = {"exact": "", "followed": "~"}
    return ["" if row.origin is None else row.origin.cause.call + marks[row.origin.status] for row in trace.rows]


def test_an_edit_wrote_the_lines_that_it_changed():
    """Not those around them that it had to name."""
    after = _BASE.replace(_OLD, _MORE)
    assert played(_BASE, edit(1, (_OLD, _MORE)), after) == ["", "", "", "1", "1"]


def test_a_line_is_known_when_it_is_moved_and_followed_when_it_is_indented():
    """By whoever does it, in one version or several; one that was only moved is as the edit wrote it."""
    steps = (_BASE, edit(1, (_OLD, _MORE)), _BASE.replace(_OLD, _MORE))
    body = "    prices = [item.price for item in cart]\n    return sum(prices)\n"
    indented = "import os\n\nclass Shop:\n    def total(cart):\n" + "".join(
        f"    {line}\n" for line in body.splitlines()
    )
    assert played(*steps, indented) == ["", "", "", "", "1~", "1~"]
    moved = "import os\n\ndef first(cart):\n    return cart[0]\n\n" + _MORE + "\ndef last(cart):\n    return cart[-1]\n"
    assert played(*steps, moved)[5:8] == ["", "1", "1"]


def test_what_was_thrown_away_wrote_nothing():
    """After a reset, the agent edits the file as it was: equal brackets of the first attempt are not the second one's."""
    first = edit(1, ("    return sum(cart)\n", "    if not cart:\n        return 0\n    return sum(cart)\n"))
    second = edit(2, ("    return sum(cart)\n", "    return float(sum(cart))\n"))
    assert played(_BASE, first, second, _BASE.replace("sum(cart)", "float(sum(cart))"))[3] == "2"
    kept = "def total(cart):\n    if not cart:\n        return 0\n    return sum(cart)\n"
    again = edit(2, (_OLD, kept.replace("return 0", "return None")))
    assert played(_BASE, first, again, "import os\n\n" + kept.replace("return 0", "return None"))[3:5] == ["2", "2"]


def test_an_edit_of_lines_that_are_not_known_waits_for_its_version():
    """As in a file that was never committed before, or on another branch."""
    text = (
        "class Cart:\n    items: list\n\n    def total(self):\n        return sum(item.price for item in self.items)\n"
    )
    made = edit(1, ("        return 0\n", "        return sum(item.price for item in self.items)\n"))
    assert played(made, text) == ["", "", "", "", "1"]
    again = edit(2, ("item.price for item in self.items)\n", "item.cost for item in self.items)\n"))
    assert played(made, again, text)[4] == "1"


def test_what_everybody_writes_is_not_of_an_edit_that_waits():
    """An edit of a file that nobody has any more: months later, a person writes one of its lines into the new one."""
    waits = edit(1, ("def old():\n", "import functools\nimport subprocess\n\ndef old():\n"))
    later = _BASE.replace("import os\n", "import functools\nimport os\n")
    assert set(played(_BASE, waits, _BASE, later)) == {""}
    assert set(played(_BASE, waits, later)) == {""}
    much = "".join(
        f"    the {word} of a whole paragraph that nobody else writes like this\n"
        for word in ("first", "second", "third")
    )
    found = played(_BASE, edit(1, ("def old():\n", f"def old():\n{much}")), _BASE, _BASE + much)
    assert found[-3:] == ["1", "1", "1"]


def test_nothing_comes_back_of_a_file_that_was_deleted():
    """Whoever makes one of that name again made another file."""
    much = "".join(
        f"    the {word} of a whole paragraph that many write like this\n" for word in ("first", "second", "third")
    )
    made = edit(1, (None, much))
    assert played(made, much, None, much) == ["", "", ""]
    assert played(made, None, much) == ["", "", ""]
    assert played(made, "", much) == ["1", "1", "1"]  # emptied by accident, and restored


def test_an_edit_is_applied_as_a_whole_or_the_file_was_reset():
    """Of an edit with two changes, one may fit to what was thrown away; the client applied both."""
    first = edit(1, ("    return sum(cart)\n", "    return sum(prices(cart)) or 0\n"))
    both = edit(2, ("import os\n", "import sys\n"), ("    return sum(cart)\n", "    return float(sum(cart))\n"))
    after = _BASE.replace("import os", "import sys").replace("sum(cart)", "float(sum(cart))")
    assert played(_BASE, first, both, after) == ["2", "", "", "2"]


def test_what_is_added_at_an_unknown_place_is_not_all_of_the_file():
    """A hunk of a patch may have no line around it: it waits for a version that has it, and replaces nothing."""
    first = edit(1, (None, "# ------ section ------\nfirst = compute(everything)\n"))
    added = edit(2, ("", "# ------ section ------\nsecond = compute(something_else)\n"))
    text = "# ------ section ------\nfirst = compute(everything)\n# ------ section ------\nsecond = compute(something_else)\n"
    assert played(first, added, text) == ["1", "1", "", ""] or played(first, added, text) == ["1", "1", "2", "2"]


def test_a_file_of_equal_lines_is_not_compared_for_ever():
    """Which of them is which is not said, rather than after minutes."""
    old = "alpha beta\n" * 300 + "gamma delta\n"
    trace = Trace()
    trace.version(HASHER.lines(old))
    trace.edit(edit(1, (None, "epsilon zeta\n" + "alpha beta\ngamma delta\n" * 300)))
    marks = [row.cause is not None for row in trace.rows]
    assert marks[0]
    assert not any(marks[1:])


def test_a_file_that_is_replaced_by_another_one_keeps_nothing_by_chance():
    """A person threw the agent's file away and wrote another: lines that any such file has are no evidence."""
    first = (
        '"use client";\nimport { useState } from "react";\nexport const Chip = () => {\n  const [open, setOpen] = useState(false);\n'
        "  return (\n    <button>\n    </button>\n  );\n};\n"
    )
    other = (
        '"use client";\nimport { motion } from "motion/react";\nimport { Check } from "lucide-react";\nfunction Pill(props) {\n'
        "  const ref = useRef(null);\n  return (\n    <motion.div>\n    </motion.div>\n  );\n}\n"
    )
    assert set(played(edit(1, (None, first)), other)) == {""}


def test_a_file_that_is_written_again_is_of_the_last_call():
    """If most of it stays, only what is new is."""
    lines = [f"line number {number} of the document" for number in range(9)]
    first = edit(1, (None, "\n".join(lines)))
    assert played(first, edit(2, (None, "\n".join([*lines, "another line"])))) == ["1"] * 9 + ["2"]
    assert played(first, edit(2, (None, "\n".join(["another line", *lines[:4]])))) == ["2"] * 5


def test_lines_that_a_version_had_are_not_of_a_call_that_writes_the_file_again():
    """However much it adds: a person's stay a person's, and those of an edit are of that edit."""
    more = "".join(f"\n\ndef part_{number}(cart):\n    return cart[{number}:]\n" for number in range(4))
    assert played(_BASE, edit(1, (None, _BASE + more)), _BASE + more) == [""] * 4 + ["1"] * 16
    steps = (_BASE, edit(1, (_OLD, _MORE)), _BASE.replace(_OLD, _MORE))
    assert played(*steps, edit(2, (None, _MORE + more)))[:3] == ["", "1", "1"]
    assert set(played(_BASE, edit(1, (None, _BASE + more)), _BASE)) == {""}


def test_lines_that_a_version_had_are_not_of_a_call_that_moves_them_or_finds_them_again():
    """Neither after the file was reset, nor where they are in another order, nor once that call is thrown away."""
    lines = [f"    name_{number} = function_{number * 7919}(argument)\n" for number in range(12)]
    base, added = "".join(lines), "    added_by_write = function_1(argument)\n"
    reset = edit(1, ("".join(lines[1:3]), "    other_thing = 1\n"))
    assert played(base, reset, edit(2, (None, base + added)), base + added) == [""] * 12 + ["2"]
    new = [f"    new_{number} = thing_{number * 31}(argument)\n" for number in range(7)]
    moved = "".join([*(lines[at] for at in (0, 9, 2, 8, 3, 1)), *new, *lines[10:]])
    assert played(base, edit(1, (None, moved)), moved) == [""] * 6 + ["1"] * 7 + [""] * 2
    assert set(played(base, edit(1, (None, moved)), base + added)) == {""}


def test_a_line_that_is_back_in_a_version_is_of_the_edit_that_it_was_of():
    """What replaced it was thrown away, or is on another branch."""
    steps = (_BASE, edit(1, (_OLD, _MORE)), _BASE.replace(_OLD, _MORE))
    again = edit(2, ("    return sum(prices)\n", "    return float(sum(prices))\n"))
    assert played(*steps, again, _BASE.replace(_OLD, _MORE)) == ["", "", "", "1", "1"]


def test_an_edit_may_name_its_first_line_without_indentation():
    """As agents that search for text do."""
    base = '{\n    "pages": [\n        "link"\n    ]\n}\n'
    made = edit(1, ('"link"\n    ]', '"link",\n        "chip"\n    ]'))
    after = base.replace('"link"\n', '"link",\n        "chip"\n')
    assert [mark.strip("~") for mark in played(base, made, after)] == ["", "", "1", "1", "", ""]


def test_an_edit_everywhere_is_one_of_each_place():
    """And one that is in several places without being meant for all of them is not applied."""
    base = "old_name(1)\nother\nold_name(1)\n"
    trace = Trace()
    trace.version(HASHER.lines(base))
    trace.edit(edit(1)._replace(changes=(change("old_name(1)", "new_name(1)", everywhere=True),)))
    assert [row.cause is not None for row in trace.rows] == [True, False, True]
    assert played(base, edit(1, ("old_name(1)", "new_name(1)")), base) == ["", "", ""]


@each("text", ["", "\n", "}\n}\n}\n"])
def test_a_file_without_telling_lines_says_nothing(text):
    """Whatever an edit wrote: such lines are everywhere."""
    assert set(played(edit(1, (None, text)), "x = 1\n", text)) <= {""}


@given(st.integers(min_value=0, max_value=1 << 32))
def test_no_edit_is_named_for_a_line_of_another(seed):
    """Through random edits, commits, resets, moves and whatever a person does in between."""
    history = History(seed)
    for _ in range(history.random.randint(1, 40)):
        history.step()
    history.check()


def test_most_lines_of_edits_are_found():
    """Of random pasts, in which much is thrown away and every third line is a bracket or a blank."""
    written = said = 0
    for seed in range(200):
        history = History(seed)
        for _ in range(30):
            history.step()
        lines, found = history.check()
        written, said = written + lines, said + found
    assert said >= 0.8 * written, (said, written)
