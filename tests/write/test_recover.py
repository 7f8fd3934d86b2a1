"""Recovery: what is appended to complete an intent, given the bytes after the committed length."""

from hypothesis import given
from hypothesis import strategies as st

from katod.write.recover import RecoveryPlan, plan
from tests.looping import each

EVENTS = [b"\n## User\n\nhello\n", b"\n- `Read` a.md\n", b"\n*Recording stopped*\n"]
INTENT = b"".join(EVENTS)
BOUNDS = [len(b"".join(EVENTS[: n + 1])) for n in range(len(EVENTS))]


def result(behind, intent=INTENT, bounds=BOUNDS, *, anchored=True):
    """Return the bytes after the committed length once the plan is carried out."""
    return carried_out(behind, plan(behind, intent, list(bounds), anchored=anchored))


def carried_out(behind, todo):
    return (behind if todo.cut is None else behind[: todo.cut]) + todo.data


# -- the cases of the design ------------------------------------------------------------------------


@each("cut", range(len(INTENT) + 1))
def test_beginning_of_the_intent_is_completed(cut):
    """Whether nothing, a part or all of the intent was written, only the rest is appended."""
    assert result(INTENT[:cut]) == INTENT
    assert plan(INTENT[:cut], INTENT, BOUNDS, anchored=True).cut is None


@each("note", [b"my note", b"\n", b"\0\0", INTENT])
def test_what_the_person_wrote_behind_the_intent_stays(note):
    """If the intent is complete, whatever follows it stays and nothing is appended."""
    assert result(INTENT + note) == INTENT + note


@each("anchored", [True, False])
@each("between", [b"", b"mine\n"])
def test_what_is_there_already_is_not_appended(anchored, between):
    """Also behind what others wrote; then the file has text of theirs."""
    long = INTENT * 20
    todo = plan(between + long, long, [len(long)], anchored=anchored)
    assert (todo.data, todo.cut, todo.foreign) == (b"", None, bool(between) or not anchored)


@each("whole", [0, 1, 2])
@each("note", [b"my note", b"my note\n", b"\nmy note"])
def test_missing_events_follow_a_note_behind_whole_ones(whole, note):
    """If a note follows some complete events, the missing events are appended after it on a new line."""
    written = INTENT[: ([0, *BOUNDS])[whole]]
    newline = b"" if note.endswith(b"\n") else b"\n"
    assert result(written + note) == written + note + newline + INTENT[len(written) :]


@each("cut", [1, 5, BOUNDS[0] + 4, BOUNDS[1] + 10])
def test_torn_event_before_a_note_is_written_whole_behind_it(cut):
    """An event torn before a note is written again in full; the fragment stays, as katod only appends."""
    whole = max(end for end in [0, *BOUNDS] if end <= cut)
    assert result(INTENT[:cut] + b"my note\n") == INTENT[:cut] + b"my note\n" + INTENT[whole:]


@each("cut", range(len(INTENT) + 1))
@each("zeros", [1, 7, 4096])
def test_nul_bytes_of_power_loss_are_cut_off(cut, zeros):
    """NUL bytes in place of the intent are the only bytes that are ever cut off."""
    behind = (INTENT[:cut] + b"\0" * zeros)[: len(INTENT)]
    assert result(behind) == INTENT


def test_nul_bytes_beyond_the_intent_are_cut_off():
    """A run of NUL bytes longer than the intent contains no one's text, and is cut off."""
    assert result(b"\0" * (len(INTENT) + 100)) == INTENT
    assert result(INTENT[:5] + b"\0" * len(INTENT)) == INTENT


@each("cut", [0, 1, 20, BOUNDS[1], len(INTENT) - 1])
@each("note", [b"my note\n", b"my note"])
@each("anchored", [True, False])
def test_nul_bytes_behind_a_note_are_cut_off(cut, note, anchored):
    """What the person wrote before the intent stays, and nothing is left of what the power took."""
    newline = b"" if note.endswith(b"\n") else b"\n"
    behind = (newline + INTENT[:cut]).ljust(len(newline + INTENT), b"\0") if cut else bytes(len(newline + INTENT))
    done = result(note + behind, anchored=anchored)
    assert b"\0" not in done
    assert done.startswith(note)
    assert done.endswith(INTENT)


@each("note", [b"", b"my note\n"])
@each("anchored", [True, False])
def test_nul_bytes_within_the_intent_are_written_over(note, anchored):
    """Power loss may leave any blocks of a write: what is there of the intent behind NUL bytes is written again."""
    kept = INTENT[: BOUNDS[0] + 4] + bytes(9) + INTENT[BOUNDS[0] + 13 :]
    assert result(note + kept, anchored=anchored) == note + INTENT
    assert result(note + kept[:-3], anchored=anchored) == note + INTENT


@each("kept", [0, 1, 2, 3, 20])
@each("note", [b"", b"my note\n", b"my note"])
def test_however_little_of_the_intent_came_before_nul_bytes(kept, note):
    """And however much behind them."""
    written = (b"\n" if note and not note.endswith(b"\n") else b"") + INTENT
    for behind in range(kept + 9, len(written)):
        done = result(note + written[:kept] + bytes(8) + written[kept + 8 : behind])
        assert b"\0" not in done
        assert done.startswith(note)
        assert [done.count(event) for event in EVENTS] == [1] * len(EVENTS)


def test_power_is_lost_again_while_the_rest_is_written_behind_a_note():
    """What is missing of the intent is then told from what was written before the note."""
    before, rest = EVENTS[0] + b"my note\n", b"".join(EVENTS[1:])
    assert result(before + rest[:4] + bytes(6) + rest[10:-3]) == before + rest


@each("anchored", [True, False])
def test_nul_bytes_of_others_hide_none_of_a_power_loss(anchored):
    """Those stay, and so does what stands behind them."""
    assert result(b"my \0 note\n" + bytes(len(INTENT)), anchored=anchored) == b"my \0 note\n" + INTENT
    assert result(b"my \0 words\n", anchored=anchored) == b"my \0 words\n" + INTENT


def test_a_note_with_the_same_words_is_not_the_intent_that_was_lost():
    """Where as many NUL bytes follow it as the intent has."""
    assert result(b"yes\n" + bytes(4), b"yes\n", [4]) == b"yes\nyes\n"


def test_nul_bytes_before_a_note_stay():
    """Only NUL bytes at the end are cut off: if text follows them, everything stays."""
    behind = INTENT[: BOUNDS[0]] + b"\0\0\0\0my note\n"
    assert result(behind) == behind + INTENT[BOUNDS[0] :]


def test_intent_behind_a_note_is_completed():
    """If a part of the intent follows a note, the rest of it is appended."""
    for cut in range(16, len(INTENT) + 1):
        assert result(b"my note\n" + INTENT[:cut]) == b"my note\n" + INTENT


def test_intent_between_notes_is_done():
    """An intent that is complete between other text is not written twice."""
    assert result(b"note\n" + INTENT + b"note\n") == b"note\n" + INTENT + b"note\n"


def test_line_put_into_the_last_event_doubles_nothing():
    """A line that the user inserted into the last event does not make it be written again."""
    intent = b"\n## User\n\nfirst\nsecond\n"
    behind = intent.replace(b"second", b"a line of mine\nsecond")
    assert result(behind, intent, [len(intent)]) == behind


@each("cut", range(1, len(b"\n- `Read` a.md\n") + 1))
def test_event_after_an_edited_one_is_completed(cut):
    """However little of an event follows one into which the user put a line, only the rest of it is appended."""
    edited = b"\n## User\n\nmine\nhello\n"
    following = edited + b"\n- `Read` a.md\n"[:cut]
    assert result(following) == edited + INTENT[BOUNDS[0] :]


def test_edited_event_at_the_beginning_is_written_once():
    """An event that begins with text counts as written even if its first line is the first one of what follows."""
    intent = b"---\ntitle: shop\n---\n"
    following = b"---\nmine: yes\ntitle: shop\n---\n"
    assert result(following, intent, [len(intent)]) == following


@each(
    "others",
    [
        b"\nfirst\nmy second\n",
        b"\nmy first\nsecond\n",
        b"\nfirst\nsecond thoughts\n",
        b"my first\nsecond\n",
        b">first\nsecond\n",
    ],
)
def test_line_of_the_user_does_not_stand_for_one_that_it_contains(others):
    """Only whole lines show that an event was written: one that has the same words in it does not."""
    intent = b"\nfirst\nsecond\n"
    assert result(others, intent, [len(intent)]) == others + intent


def test_line_is_found_below_another_one_that_ends_like_it():
    """The whole line counts, wherever the same words come before it."""
    following = b"\nfirst\nmy second\nsecond\n"
    assert result(following, b"\nfirst\nsecond\n", [len(b"\nfirst\nsecond\n")]) == following


def test_empty_intent_adds_nothing_to_a_file_that_ends_a_line():
    """An empty intent appends nothing."""
    assert result(b"note\n", b"", []) == b"note\n"


# -- a file that was edited before the committed length -----------------------------------------------


@each("cut", [16, BOUNDS[0], BOUNDS[1], len(INTENT) - 1, len(INTENT)])
def test_edited_file_that_ends_with_a_part_of_the_intent_is_completed(cut):
    """Without a matching anchor, the end of the file shows how much was written."""
    before = b"# My title\n\nedited words\n"
    assert result(before + INTENT[:cut], anchored=False) == before + INTENT


@each("intent", [b"y", b"\n", b"ab\n", b"\nyes.\n", b"x" * 127 + b"\n", b"x" * 200 + b"\n"])
@each("before", [b"", b"edited words\n", b"\n", b"y\n"])
def test_edited_file_that_ends_with_the_intent_is_complete(intent, before):
    """However short the intent is."""
    for anchored in (True, False):
        assert result(before + intent, intent, [len(intent)], anchored=anchored) == before + intent


def test_intent_that_was_not_begun_follows_an_edited_file():
    """If nothing of the intent is in an edited file, all of it is appended on a new line."""
    assert result(b"edited words", anchored=False) == b"edited words\n" + INTENT


def test_words_that_were_said_before_do_not_stand_for_the_intent():
    """An intent is written even if the same text appears earlier in an edited file, so that nothing is lost."""
    said = b"\n- `Read` a.md\n"
    before = b"edited\n" + said + b"\nThen something else was said.\n"
    assert result(before, said, [len(said)], anchored=False) == before + said


# -- properties --------------------------------------------------------------------------------------

TEXTS = st.lists(st.text("ab`\n- é", max_size=12).map(lambda text: text.strip("\n").encode()), min_size=1, max_size=5)
EVENT_LISTS = TEXTS.map(lambda texts: [b"\n<%d>%s\n" % (n, text) for n, text in enumerate(texts)])
NOTES = st.text("XYZ\n", max_size=12).map(lambda text: f"X{text}".encode())


def bounds_of(events):
    return [len(b"".join(events[: n + 1])) for n in range(len(events))]


@given(EVENT_LISTS, st.data())
def test_any_cut_alone_is_completed_exactly(events, draw):
    """Wherever a crash cut the intent, with or without NUL bytes after it, the file contains it once."""
    intent = b"".join(events)
    cut = draw.draw(st.integers(0, len(intent)))
    zeros = draw.draw(st.integers(0, 20)) if cut < len(intent) else 0
    assert result(intent[:cut] + b"\0" * zeros, intent, bounds_of(events)) == intent


@given(EVENT_LISTS, NOTES, st.data())
def test_note_behind_a_cut_stays_and_every_event_is_there(events, note, draw):
    """A note after a torn intent stays in place, and the missing events follow it."""
    intent, bounds = b"".join(events), bounds_of(events)
    cut = draw.draw(st.integers(0, len(intent)))
    behind = intent[:cut] + note
    whole = max(end for end in [0, *bounds] if end <= cut)
    newline = b"" if note.endswith(b"\n") else b"\n"
    missing = newline + intent[whole:] if cut < len(intent) else b""
    assert result(behind, intent, bounds) == behind + missing


@given(EVENT_LISTS, NOTES, st.booleans(), st.data())
def test_note_before_the_intent_stays_and_every_event_is_there_once(events, note, anchored, draw):
    """A note before the intent stays, and the intent follows it once and complete."""
    intent = b"".join(events)
    cut = draw.draw(st.sampled_from([0, *range(3, len(intent) + 1)]))
    newline = b"" if cut or note.endswith(b"\n") else b"\n"
    assert result(note + intent[:cut], intent, bounds_of(events), anchored=anchored) == note + newline + intent


@given(EVENT_LISTS, NOTES, NOTES, st.just(True), st.data())
def test_cut_between_events_leaves_nothing_torn(events, before, behind, anchored, draw):
    """If the crash was between two events, each is written once, whatever surrounds them."""
    intent, bounds = b"".join(events), bounds_of(events)
    cut = draw.draw(st.sampled_from([0, *bounds]))
    done = result(before + intent[:cut] + behind, intent, bounds, anchored=anchored)
    assert [done.count(event) for event in events] == [1] * len(events)
    for event in events:
        done = done.replace(event, b"", 1)
    assert done.replace(b"\n", b"") == (before + behind).replace(b"\n", b"")


def lose(draw, written):
    """Return what a power loss leaves of a write: any bytes of it, and perhaps not its end."""
    lost = draw.draw(st.lists(st.booleans(), min_size=len(written), max_size=len(written)))
    kept = bytes(0 if gone else byte for byte, gone in zip(written, lost, strict=True))
    return kept[: draw.draw(st.integers(0, len(kept)))]


@given(EVENT_LISTS, st.one_of(st.just(b""), NOTES), st.booleans(), st.data())
def test_power_loss_leaves_no_nul_byte(events, before, anchored, draw):
    """Whichever bytes of the intent are lost, once or twice, the file has each event once, behind what was there."""
    intent, bounds = b"".join(events), bounds_of(events)
    todo = RecoveryPlan((b"\n" if before and not before.endswith(b"\n") else b"") + intent)
    there = before
    for _ in range(2):
        there = carried_out(there, RecoveryPlan(lose(draw, todo.data), cut=todo.cut))
        todo = plan(there, intent, bounds, anchored=anchored)
    done = carried_out(there, todo)
    assert b"\0" not in done
    assert done.startswith(before)
    if anchored or len(intent) >= 128:
        assert [done.count(event) for event in events] == [1] * len(events)


@given(EVENT_LISTS, st.binary(max_size=40), st.booleans())
def test_what_is_cut_off_stands_in_its_place_in_the_intent(events, behind, anchored):
    """Nothing but NUL bytes at the end is cut off, and bytes between them that are written again in the same place."""
    intent, bounds = b"".join(events), bounds_of(events)
    todo = plan(behind, intent, bounds, anchored=anchored)
    if todo.cut is not None:
        done = carried_out(behind, todo)
        assert all(lost in (0, done[at]) for at, lost in enumerate(behind) if at >= todo.cut)
