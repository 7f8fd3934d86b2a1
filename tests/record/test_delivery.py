"""How intents are written to their outputs, and what happens to those that cannot be written."""

from unittest import mock

import pytest

from katod.errors import OutputError, OutputReplaced, SourceError, SourceUnusable
from katod.model import Range
from katod.record import delivery as module
from katod.record.delivery import Delivery
from katod.record.ranges import RangePrinter
from katod.write.root import mark_root
from tests.support.parts import put
from tests.support.records import Claude


class Desk:
    """One output and its delivery, with a clock of their own."""

    def __init__(self, parts, monkeypatch):
        self.parts = parts
        self.now = 1000.0
        self.broken = False
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        for name in ("append", "complete"):
            monkeypatch.setattr(module, name, self._wrapped(getattr(module, name)))
        self.told = []
        self.delivery = Delivery(parts.ledger, parts.log, lambda news: self.told.append(news.kind))
        self.delivery.use(parts.world.out)
        parts.world.claude().append(Claude().user("the title"))
        source = parts.source()
        session = parts.load(source)
        list(parts.read(session, source))
        self.output = parts.output(session)
        self.output.add_range(Range(""))
        self.path = self.output.row.path

    @property
    def row(self):
        return self.output.row

    def write(self, text):
        """Deliver a text as the step that rendered it does."""
        put(self.output, intent=text.encode(), bounds=(len(text.encode()),))
        self.output.save(self.parts.ledger)
        return self.delivery.deliver(self.output)

    def fail(self):
        """Make every write fail from now on."""
        self.broken = True

    def mend(self):
        """Make writes succeed again."""
        self.broken = False

    def _wrapped(self, real):
        def call(place, *arguments):
            if self.broken:
                raise OutputError("cannot be written: No space left on device", path=place.path)
            return real(place, *arguments)

        return call

    def printed(self):
        """Return the mark that stands before the next text of the output, after a check; once."""
        self.delivery.check(self.output)
        kept = RangePrinter.of(self.row, self.row.printer)
        mark = kept.state().get("pending", "")
        put(self.output, printer=kept.state() | {"pending": ""})
        self.output._printer = None
        return mark

    def stored(self):
        [row] = self.parts.ledger.outputs()
        return row


@pytest.fixture
def desk(parts, monkeypatch):
    return Desk(parts, monkeypatch)


# -- delivering --------------------------------------------------------------------------------------


def test_an_intent_is_appended_and_closed_with_the_next_commit(desk):
    """After a crash before that commit, the intent is still open and is compared with the file."""
    assert desk.write("one\n")
    assert desk.write("two\n")
    assert desk.path.read_text() == "one\ntwo\n"
    assert (desk.row.intent, desk.row.bounds, desk.row.made, desk.row.committed) == (None, (), True, 8)
    assert desk.stored().intent == b"two\n"
    assert desk.delivery.unsettled
    desk.delivery.settle()
    assert (desk.stored().intent, desk.stored().committed) == (None, 8)
    assert not desk.delivery.unsettled


def test_what_the_ledger_was_told_need_not_be_settled(desk):
    """An output that the next step stored needs no settling."""
    desk.write("one\n")
    desk.delivery.saved([desk.output])
    assert not desk.delivery.unsettled


def test_without_an_intent_nothing_is_written(desk):
    """Without an intent nothing is written, and no empty file is created."""
    assert desk.delivery.deliver(desk.output)
    assert desk.delivery.retry(desk.output)
    assert not desk.path.exists()


def test_a_new_file_is_known_before_anything_is_in_it(desk):
    """A new file is in the ledger before it has content, so that after a crash it is known to be katod's."""
    desk.fail()
    assert not desk.write("one\n")
    assert desk.path.read_bytes() == b""
    assert desk.stored().ino == desk.path.stat().st_ino


def test_another_file_of_the_name_is_left_alone(desk):
    """A file that is not katod's is not changed; the output is parked until the user moves it."""
    desk.path.parent.mkdir(parents=True)
    desk.path.write_text("dear diary")
    assert not desk.write("one\n")
    assert desk.row.problem == "a different file already exists here (move or rename it)"
    desk.path.rename(desk.path.with_name("mine.md"))
    assert desk.delivery.retry(desk.output)
    assert desk.path.read_text() == "one\n"


# -- parking -----------------------------------------------------------------------------------------


def test_an_output_that_cannot_be_written_is_parked_with_its_intent(desk):
    """A parked output keeps its intent and has a problem for `katod status`."""
    desk.fail()
    assert not desk.write("one\n")
    assert desk.delivery.is_parked(desk.output)
    assert (desk.row.intent, desk.row.problem) == (b"one\n", "cannot be written: No space left on device")
    fields = {"output": desk.row.id, "problem": desk.row.problem, "retry_seconds": 1.0}
    assert desk.parts.said("output.parked") == [fields]
    assert desk.delivery.next_retry() == 1001.0


def test_the_pauses_between_tries_grow(desk):
    """Pauses double up to five minutes, and an output is due when its pause is over."""
    desk.fail()
    desk.write("one\n")
    pauses = []
    for _ in range(11):
        due = desk.delivery.next_retry()
        pauses.append(due - desk.now)
        assert desk.delivery.due(due - 0.1) == []
        assert desk.delivery.due(due) == [desk.output]
        desk.now = due
        desk.delivery.retry(desk.output)
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert desk.told == ["parked"]


def test_an_output_that_can_be_written_again_is_parked_no_longer(desk):
    """After a successful retry the output is no longer parked, and its next pause is the shortest one again."""
    desk.fail()
    desk.write("one\n")
    desk.delivery.retry(desk.output)
    desk.mend()
    assert desk.delivery.retry(desk.output)
    assert (desk.row.problem, desk.row.attempts, desk.delivery.next_retry()) == ("", 0, None)
    assert desk.parts.said("output.resumed") == [{"output": desk.row.id}]
    assert desk.path.read_text() == "one\n"
    assert desk.told == ["parked", "unparked"]
    desk.fail()
    desk.write("two\n")
    assert desk.delivery.next_retry() == desk.now + 1
    desk.mend()
    assert desk.delivery.retry(desk.output)
    assert desk.told == ["parked", "unparked"], "it was parked for a moment only"


def test_an_output_that_waited_without_an_intent_goes_on(desk):
    """An output parked because its session could not be read has nothing to write, and resumes."""
    desk.delivery.park(desk.output, OutputError("its session cannot be read"))
    assert desk.delivery.retry(desk.output)
    assert not desk.delivery.is_parked(desk.output)
    assert not desk.path.exists()


def test_an_output_whose_step_was_undone_is_forgotten(desk):
    """The output is neither parked nor unsettled: the ledger has its state before the step."""
    desk.write("one\n")
    desk.delivery.park(desk.output, OutputError("x"))
    desk.output.note_missing("once")
    desk.delivery.forget(desk.output)
    assert not desk.delivery.unsettled
    assert not desk.delivery.is_parked(desk.output)
    assert desk.output.missing == ""


def test_an_output_that_was_written_is_not_retried(desk):
    """What was wrong with it is over."""
    desk.delivery.park(desk.output, OutputError("x"))
    assert desk.write("one\n")
    assert desk.delivery.next_retry() is None


# -- completing --------------------------------------------------------------------------------------


@pytest.mark.whole
@pytest.mark.parametrize("there", ["", "tw", "two\n"])
def test_an_intent_that_was_written_in_part_is_completed(desk, there):
    """Nothing is written twice, whatever part of the intent is in the file after a crash."""
    desk.write("one\n")
    put(desk.output, intent=b"two\n", bounds=(4,))
    with desk.path.open("a") as file:
        file.write(there)
    assert desk.delivery.retry(desk.output)
    assert desk.path.read_text() == "one\ntwo\n"
    assert desk.parts.said("output.recovered") == [{"output": desk.row.id, "foreign": False}]
    assert desk.parts.said("output.resumed") == []
    assert desk.printed() == ""


def test_what_a_person_wrote_after_a_crash_stays_and_is_marked_once(desk):
    """A mark before the next text notes the user's edit, as it is not part of the conversation."""
    desk.write("one\n")
    put(desk.output, intent=b"two\n", bounds=(4,))
    with desk.path.open("a") as file:
        file.write("two\nmy note\n")
    assert desk.delivery.retry(desk.output)
    assert desk.path.read_text() == "one\ntwo\nmy note\n"
    assert desk.parts.said("output.recovered")[0]["foreign"]
    assert [bool(desk.printed()) for _ in range(2)] == [True, False]


def test_an_intent_whose_file_went_away_begins_the_next_one(desk):
    """The new file has a head, a mark that the old file is gone, and the intent; its bounds are shifted."""
    desk.write("one\n")
    put(desk.output, intent=b"two\nthree\n", bounds=(4, 10))
    desk.path.unlink()
    assert not desk.delivery.retry(desk.output)
    with mock.patch.object(module, "complete", wraps=module.complete) as complete:
        assert desk.delivery.retry(desk.output)
    text = desk.path.read_text()
    assert text.startswith("---\ntitle:")
    assert "The earlier file is gone" in text
    assert text.endswith("two\nthree\n")
    _, _, intent, [head, *ends] = complete.call_args.args
    assert [intent[at : at + 1] for at in (head, ends[0])] == [b"t", b"t"]
    assert (len(intent), ends[-1]) == (len(text.encode()), len(text.encode()))
    assert desk.parts.said("output.edited") == [{"output": desk.row.id, "change": "gone"}]
    assert desk.output.missing == ""


def test_a_file_in_which_nothing_stood_yet_is_made_again_without_a_mark(desk):
    """An empty file that did not survive a crash is created again without a mark: nothing was lost."""
    desk.fail()
    desk.write("one\n")
    desk.path.unlink()
    desk.mend()
    assert desk.delivery.retry(desk.output)
    assert desk.path.read_text() == "one\n"


# -- checks before writing ---------------------------------------------------------------------------


def test_an_output_as_it_was_left_gets_no_mark(desk):
    """An unchanged output gets no mark, nor does one that was never created."""
    assert desk.printed() == ""
    desk.write("one\n")
    assert desk.printed() == ""


def test_an_edited_output_is_adopted_with_a_mark(desk):
    """The content that the user edited is the output from now on."""
    desk.write("one\n")
    desk.path.write_text("ONE, my note\n")
    assert "changed by hand" in desk.printed()
    assert (desk.row.committed, desk.row.made) == (13, True)
    assert desk.printed() == ""
    assert desk.parts.said("output.edited") == [{"output": desk.row.id, "change": "reverted"}]


def test_a_deleted_output_is_begun_again(desk):
    """A file that is still missing at the retry is begun again with a head, and a mark that the old one is gone."""
    desk.write("one\n")
    desk.path.unlink()
    live = desk.output
    put(live, printer={"headed": True})
    assert not desk.delivery.check(live)
    assert desk.delivery.is_parked(desk.output)
    assert desk.delivery.retry(desk.output)
    assert desk.delivery.check(live)
    assert live.missing == ""
    assert "gone" in live.printer.state()["pending"]
    assert (live.printer.headed, desk.row.made, desk.row.ino) == (False, False, 0)


def test_an_output_with_an_open_intent_is_not_looked_at(desk):
    """While an intent is open, only recovery decides about the content of the file."""
    desk.write("one\n")
    desk.path.write_text("edited\n")
    put(desk.output, intent=b"two\n")
    assert desk.delivery.check(desk.output)
    assert desk.printed() == ""
    assert desk.row.committed == 4


def test_an_output_that_cannot_be_opened_is_left_to_the_append(desk):
    """The check ignores the error; the append fails in the same way, and parks the output."""
    desk.write("one\n")
    desk.path.unlink()
    desk.path.symlink_to(desk.parts.world.home)
    assert desk.printed() == ""
    assert not desk.write("two\n")
    assert "not a regular file" in desk.row.problem or "symbolic link" in desk.row.problem


# -- missing, renamed ---------------------------------------------------------------------------------


def test_a_renamed_output_is_stored_with_its_new_path(desk):
    """At the retry, the ledger knows the new path before anything is written there; the log has neither."""
    desk.write("one\n")
    path = desk.path.rename(desk.path.with_name("mine.md"))
    assert not desk.delivery.check(desk.output)
    assert desk.row.problem == "is missing: it may have been renamed or deleted"
    assert desk.delivery.next_look() == desk.delivery.next_retry() == 1001.0
    assert desk.delivery.retry(desk.output)
    assert (desk.stored().path, desk.stored().root) == (path, desk.parts.world.out)
    assert desk.parts.said("output.moved") == [{"output": desk.row.id}]
    assert desk.delivery.next_look() is None
    assert desk.write("two\n")
    assert path.read_text() == "one\ntwo\n"


@pytest.mark.whole
@pytest.mark.parametrize("marks", [True, False])
def test_an_output_that_is_older_than_its_directorys_marker_is_followed_too(desk, marks):
    """A file may have been made in a directory that became the output directory later."""
    out = desk.parts.world.out
    out.mkdir()
    put(desk.output, marker="")
    desk.write("one\n")
    assert desk.row.marker == ""
    if marks:  # as the next output does
        marker = mark_root(out)
        desk.parts.ledger.add_output(desk.row._replace(id=0, path=out / "other.md", ino=1, ranges=(), marker=marker))
        desk.delivery.use(out.with_name("elsewhere"))
    moved = out / "read" / "mine.md"
    moved.parent.mkdir()
    desk.path.rename(moved)
    put(desk.output, intent=b"two\n", bounds=(4,))
    assert [desk.delivery.retry(desk.output) for _ in range(2)] == [False, True]
    assert (desk.row.path, desk.path.exists()) == (moved, False)
    assert moved.read_text() == "one\ntwo\n"


def test_an_output_that_was_moved_to_the_new_output_directory_is_followed(desk):
    """A person who names another directory in the settings moves the transcripts there."""
    desk.write("one\n")
    elsewhere = desk.parts.world.home / "elsewhere"
    elsewhere.mkdir()
    moved = desk.path.rename(elsewhere / "mine.md")
    desk.delivery.use(elsewhere)
    put(desk.output, intent=b"two\n", bounds=(4,))
    assert [desk.delivery.retry(desk.output) for _ in range(2)] == [False, True]
    assert (desk.row.path, desk.row.root) == (moved, elsewhere)
    assert moved.read_text() == "one\ntwo\n"
    assert (elsewhere / desk.row.marker).is_file()


def test_a_new_output_directory_is_not_made_to_look_for_an_output(desk):
    """Nothing can have been moved there."""
    desk.write("one\n")
    desk.path.unlink()
    elsewhere = desk.parts.world.home / "elsewhere"
    desk.delivery.use(elsewhere)
    put(desk.output, intent=b"two\n", bounds=(4,))
    assert [desk.delivery.retry(desk.output) for _ in range(2)] == [False, True]
    assert not elsewhere.exists()


def test_an_output_is_followed_of_which_only_the_intent_was_written(desk):
    """A crash came after the append; before the next start, the person renamed the file."""
    desk.write("one\n")
    put(desk.output, intent=b"one\n", bounds=(4,), committed=0, tail="")
    moved = desk.path.rename(desk.path.with_name("mine.md"))
    assert desk.delivery.retry(desk.output)
    assert (desk.row.path, moved.read_text()) == (moved, "one\n")


def test_a_missing_output_is_not_looked_for_while_its_disk_is_missing(desk):
    """It waits until the disk is there again, though nothing is to be written to it."""
    out = desk.parts.world.out
    desk.write("one\n")
    away = desk.path.rename(desk.parts.world.home / "away.md")
    assert not desk.delivery.check(desk.output)
    out.rename(out.with_name("unmounted"))
    assert not desk.delivery.retry(desk.output)
    assert desk.delivery.is_parked(desk.output)
    assert "is the disk mounted?" in desk.row.problem
    out.with_name("unmounted").rename(out)
    away.rename(desk.path)
    assert desk.delivery.retry(desk.output)


def test_an_older_copy_is_noted_when_an_intent_is_completed(desk):
    """A person saved it while the output could not be written."""
    desk.write("one\n")
    desk.fail()
    desk.write("two\n")
    desk.mend()
    desk.path.write_text("older\n")
    assert desk.delivery.retry(desk.output)
    assert (desk.row.reverted, desk.path.read_text()) == (True, "older\ntwo\n")


def test_an_output_is_followed_whose_directory_was_moved_away(desk):
    """It is not parked: the settings name the directory in which it is now."""
    desk.write("one\n")
    elsewhere = desk.parts.world.home / "elsewhere"
    desk.parts.world.out.rename(elsewhere)
    desk.delivery.use(elsewhere)
    put(desk.output, intent=b"two\n", bounds=(4,))
    assert desk.delivery.retry(desk.output)
    assert (desk.row.root, desk.row.problem, desk.row.path.read_text()) == (elsewhere, "", "one\ntwo\n")


def test_a_directory_is_marked_although_it_is_not_the_output_directory_any_more(desk):
    """It was when the output was planned; a crash and other settings can come between that and its file."""
    desk.delivery.use(desk.parts.world.home / "elsewhere")
    desk.write("one\n")
    assert (desk.parts.world.out / desk.stored().marker).is_file()


def test_a_directory_is_not_marked_again_for_a_file_that_is_made_again(desk):
    """The person deletes the only file, and the disk is unmounted before its successor is made."""
    out = desk.parts.world.out
    desk.write("one\n")
    desk.path.unlink()
    steps = (desk.delivery.check(desk.output), desk.delivery.retry(desk.output))
    assert (*steps, desk.delivery.check(desk.output)) == (False, True, True)
    desk.output.save(desk.parts.ledger)
    out.rename(out.with_name("away"))
    assert not desk.write("two\n")
    assert not out.exists()
    out.mkdir()
    assert not desk.write("two\n")
    assert list(out.iterdir()) == []


def test_an_output_with_the_name_of_another_recording_waits(desk):
    """If a person exchanged the names of two transcripts, neither is written to the other, or written anew."""
    desk.write("one\n")
    other = desk.path.rename(desk.path.with_name("mine.md"))
    stored = desk.row.path
    put(desk.output, path=other)
    desk.output.save(desk.parts.ledger)
    put(desk.output, path=stored)
    assert not desk.delivery.check(desk.output)
    assert not desk.delivery.retry(desk.output)
    assert desk.row.path == stored
    assert "given the name of another recording" in desk.row.problem
    assert desk.parts.said("output.moved") == []


def test_an_output_directory_is_marked_once_and_not_created_again(desk):
    """The first output of a directory stores the marker; later ones need it."""
    desk.write("one\n")
    [marker] = [path.name for path in desk.parts.world.out.iterdir() if path.is_file()]
    assert desk.stored().marker == desk.parts.ledger.markers.of(desk.parts.world.out) == marker
    desk.path.unlink()
    (desk.parts.world.out / marker).unlink()
    assert not desk.write("two\n")
    assert "is not the directory that katod wrote to" in desk.row.problem
    assert not desk.path.exists()


def test_an_append_to_a_replaced_file_is_completed_at_once(desk, monkeypatch):
    """The output is not parked: the intent is written to the file that has the name now."""
    desk.write("one\n")

    def replaced(place, _):
        fresh = place.path.with_name("fresh")
        fresh.write_text("one\nmy note\n")
        fresh.replace(place.path)
        raise OutputReplaced("was replaced while katod wrote to it", path=place.path)

    with monkeypatch.context() as late:
        late.setattr(module, "append", replaced)
        assert desk.write("two\n")
    assert desk.path.read_text() == "one\nmy note\ntwo\n"
    assert desk.printed() != ""


# -- attachments -------------------------------------------------------------------------------------


def test_attachments_are_saved_beside_the_output(desk):
    """Attachments are saved once, named after their hashes, and then dropped from memory."""
    live = desk.output
    live._assets += [("image/png", "aGk="), ("image/png", "aGk=")]
    desk.delivery.save_assets(live)
    [saved] = (desk.path.parent / "n.assets").iterdir()
    assert saved.read_bytes() == b"hi"
    assert saved.suffix == ".png"
    assert live.assets == []


def in_the_way(desk):
    """Put a file in place of the folder of attachments; return it."""
    desk.path.parent.mkdir(parents=True)
    blocking = desk.path.parent / "n.assets"
    blocking.write_text("in the way")
    return blocking


def test_a_text_waits_for_the_attachment_that_it_links_to(desk):
    """An attachment that cannot be saved parks the text that links to it; later both are written, once."""
    blocking, live = in_the_way(desk), desk.output
    live._assets += [("image/png", "aGk="), ("image/png", "aG8=")]
    desk.delivery.save_assets(live)
    assert not desk.write("one\n")
    assert not desk.delivery.retry(live)
    assert (desk.row.problem.partition(" (")[0], desk.path.exists()) == ("n.assets is not a directory", False)
    blocking.unlink()
    assert desk.delivery.retry(live)
    assert sorted(saved.read_bytes() for saved in blocking.iterdir()) == [b"hi", b"ho"]
    assert (desk.path.read_text(), live.assets) == ("one\n", [])


def waiting(desk, name):
    """Put the output into the state in which a process leaves it that could not save an attachment."""
    put(desk.output, printer=(desk.row.printer or {}) | {"pictures": [name]}, intent=b"one\n", bounds=(4,))
    return desk.output


def test_an_attachment_that_its_session_lost_holds_back_nothing(desk):
    """The text is written, and the log says that the attachment is lost."""
    live = waiting(desk, "0123456789abcdef.png")
    assert desk.delivery.retry(live)
    assert desk.path.read_text() == "one\n"
    assert [fields["problem"] for fields in desk.parts.said("attachment.failed")] == ["its session no longer has it"]
    assert live.lost_assets == frozenset()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("error", "written"), [(SourceError("is locked"), False), (SourceUnusable("is damaged"), True)], ids=str
)
def test_an_attachment_is_read_again_as_long_as_its_session_may_be(desk, monkeypatch, error, written):
    """If the session cannot be read now, the text still waits for the attachment; not if it never can."""
    monkeypatch.setattr(module, "pictures_again", mock.Mock(side_effect=error))
    live = waiting(desk, "0123456789abcdef.png")
    assert (desk.delivery.retry(live), desk.path.exists()) == (written, written)
    assert desk.row.problem == ("" if written else "its session cannot be read: is locked")


def test_the_first_of_the_parked_outputs_is_retried_next():
    """All that are missed can be looked for when the last of them may be; without any, there is nothing to wait for."""
    delivery = object.__new__(Delivery)
    delivery._parked = {}
    assert (delivery.next_retry(), delivery.next_look(), delivery.due(9.0)) == (None, None, [])
    one, two, three = (mock.Mock(missing=missing) for missing in ("once", "", "once"))
    delivery._parked = {one: 5.0, two: 3.0, three: 7.0}
    assert (delivery.next_retry(), delivery.next_look(), delivery.due(5.0)) == (3.0, 7.0, [one, two])
