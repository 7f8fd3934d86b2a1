"""Calls that wait for their results."""

import json

from katod.formats.transcript.calls import Call, HeldCalls, OpenCallTable
from katod.formats.transcript.content import Code, Inline

ABOUT = (Inline("code", "npm test"),)


def body(text="make"):
    return Code(text, "bash")


def answer(held, call, text="ok"):
    return held.answer(call, ("1 line",), Code(text, "text"))


def shown(folds):
    """Return the name and the number of parts of each block."""
    return [(fold.name, len(fold.parts)) for fold in folds]


def test_call_waits_for_its_result():
    """A call is one block with its result, printed when the result comes."""
    held = HeldCalls()
    assert held.add("t1", "Bash", ABOUT, body()) == []
    [fold] = answer(held, "t1")
    assert (fold.name, fold.about, fold.notes) == ("Bash", ABOUT, ("1 line",))
    assert fold.parts == (body(), Code("ok", "text"))
    assert held.flush() == []


def test_calls_are_printed_in_their_order():
    """Whatever the order of the results, a run of calls is printed when all have come, in the order of the calls."""
    held = HeldCalls()
    for number in (1, 2, 3):
        held.add(f"t{number}", f"call {number}", (), body())
    assert (answer(held, "t3"), answer(held, "t1")) == ([], [])
    assert shown(answer(held, "t2")) == [("call 1", 2), ("call 2", 2), ("call 3", 2)]


def test_flushed_call_has_no_result():
    """Calls that must be printed now have the results that have come; a later result is not theirs."""
    held = HeldCalls()
    held.add("t1", "one", (), body())
    held.add("t2", "two", (), body())
    answer(held, "t2")
    assert shown(held.flush()) == [("one", 1), ("two", 2)]
    assert answer(held, "t1") is None


def test_second_result_of_a_call_is_not_held():
    """A call has one result; another one is a block of its own."""
    held = HeldCalls()
    held.add("t1", "one", (), body())
    held.add("t2", "two", (), body())
    answer(held, "t1")
    assert answer(held, "t1") is None


def test_at_most_64_kb_are_held():
    """If calls or results are large, all that is held is printed at once."""
    held = HeldCalls()
    held.add("t1", "one", (), body())
    assert shown(held.add("t2", "two", (), body("x" * 65_536))) == [("one", 1), ("two", 1)]
    held.add("t3", "three", (), body())
    held.add("t4", "four", (), body())
    assert shown(answer(held, "t4", "x" * 65_536)) == [("three", 1), ("four", 2)]


def test_held_calls_go_on_from_their_state():
    """Calls that were stored as JSON are printed as if nothing had happened."""
    held = HeldCalls()
    held.add("t1", "one", ABOUT, body())
    held.add("t2", "two", (), body())
    answer(held, "t2")
    again = HeldCalls(json.loads(json.dumps(held.state())))
    assert answer(again, "t1") == answer(held, "t1")


def test_known_calls_name_their_late_results():
    """What is known of a call is there once, also after a restart."""
    known = OpenCallTable()
    call = Call("Bash", ABOUT, commits=True, edits=(("a.py", 1, 2), ("b.py", 0, 0)))
    known.add("t1", call)
    again = OpenCallTable(json.loads(json.dumps(known.state())))
    assert again.take("t1") == call
    assert again.take("t1") is None


def test_few_calls_are_remembered():
    """Of too many open calls the oldest are forgotten; a call without an id is not remembered."""
    known = OpenCallTable()
    for number in range(400):
        known.add(f"t{number}", Call("Bash"))
    known.add("", Call("Bash"))
    assert len(known.state()) == 256
    assert (known.take("t0"), known.take("t399"), known.take("")) == (None, Call("Bash"), None)
