"""`katod pause` and `katod pause --end`: what is said in between is not recorded."""

import pytest

from katod.service.pause import NAME
from tests.examples import mostly
from tests.support.inprocess import InProcess
from tests.support.live import Live
from tests.support.records import CWD, MAKERS, OF_EACH_NATURE, Claude, line, says, user


class Talk:
    """One session, spoken into word by word, and the words that must be in its transcript."""

    def __init__(self, world):
        self.world, self.make, self.source = world, Claude(), world.claude()

    def say(self, *texts):
        self.source.append(*(self.make.user(text) for text in texts))

    def assert_goes_on(self):
        """Assert that what is said now is recorded, nothing of the pause is, and that live equals the export."""
        self.say("two")
        self.world.once()
        assert "secret" not in self.text
        assert "two" in self.text
        assert self.world.assert_live_is_batch() == 1

    @property
    def text(self):
        [path] = self.world.out.rglob("*.md")
        return path.read_text()


@pytest.fixture
def talk(world):
    return Talk(world)


def test_what_is_said_between_is_not_recorded(talk):
    """Marks say where; live equals the export."""
    talk.say("::start notes\none")
    talk.world.cli("pause")
    talk.say("secret")
    talk.world.once()
    talk.say("more secret")
    talk.world.cli("pause", "--end")
    talk.say("two")
    talk.world.once()
    assert "secret" not in talk.text
    order = [talk.text.index(words) for words in ("one", "Recording paused", "Recording resumed", "two")]
    assert order == sorted(order)
    assert talk.world.assert_live_is_batch() == 1


def test_what_is_written_again_meanwhile_is_nothing_that_was_said_last(talk):
    """Also where katod ends before it has read all of it: the recording goes on, and counts, as its export does."""
    make, source = talk.make, talk.source
    said = [make.user("::start n.jsonl\none"), make.says("two"), make.says("more")]
    source.append(*said)
    talk.world.once()
    talk.world.cli("pause")
    again = [dict(record, uuid=f"00000000-0001-4000-8000-00000000000{n}") for n, record in enumerate(said)]
    for number in (1, 2):
        again[number]["message"] = again[number]["message"] | {"id": f"copy-{number}"}
    source.append(*again)
    run = InProcess(talk.world)
    run.turn()
    run.vanish()
    talk.world.cli("pause", "--end")
    source.append(make.says("three"))
    talk.world.once()
    talk.world.cli("pause")
    assert talk.world.assert_live_is_batch() == 1


@pytest.mark.parametrize("line", ["::start other", "::capture other", "::export other"])
def test_commands_typed_between_do_not_act(talk, line):
    """Neither at once nor later, in a recorded session or another; the status says why."""
    talk.say("::start notes\none")
    other = talk.world.codex()
    talk.world.cli("pause")
    talk.say(f"{line}\nsecret")
    make = talk.world.session(7)
    make.append(make.user(f"{line}\nsecret"))
    talk.world.once()
    talk.world.cli("pause", "--end")
    talk.say("two")
    talk.world.once()
    assert not other.path.exists()
    assert [row["output"] for row in talk.world.status()["recordings"]] == [str(talk.world.out / "app" / "notes.md")]
    assert talk.world.status()["ended"] == []
    assert "two" in talk.text
    assert {row["reason"] for row in talk.world.status()["refused"]} == {
        "recording is paused: run `katod pause --end` first"
    }


@pytest.mark.parametrize("how", ["in the chat", "from the shell"])
def test_a_recording_can_be_stopped_between(talk, how):
    """To stop is always obeyed: it does not go on when katod does, and its transcript says so."""
    talk.say("::start notes\none")
    talk.world.cli("pause")
    if how == "in the chat":
        talk.say("::stop\nsecret")
        talk.world.once()
    else:
        assert "stopped recording" in talk.world.cli("stop")
    talk.world.cli("pause", "--end")
    talk.say("two")
    talk.world.once()
    assert talk.world.status()["recordings"] == []
    assert "secret" not in talk.text
    assert "two" not in talk.text
    assert talk.text.rstrip().rpartition("*Recording ")[2].startswith("stopped")
    assert talk.world.assert_live_is_batch() == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    mostly(OF_EACH_NATURE, [make for make in MAKERS if not make.WHOLE_SECONDS]),
    ids=lambda make: make.__name__,
)
def test_for_every_agent_it_is_silence(world, make):
    """Lines, documents and databases alike: what was said between is not in the transcript."""
    source = make(world)
    source.say(user("::start notes\none"))
    world.once()
    world.cli("pause")
    source.say(user("secret"), says("a secret answer"))
    world.once()
    source.say(user("more secret"), says("another secret answer"))
    world.cli("pause", "--end")
    source.say(user("two"), says("an answer"))
    world.once()
    [path] = world.out.rglob("*.md")
    text = path.read_text()
    assert "secret" not in text
    assert [words in text for words in ("one", "Recording resumed", "two")] == [True] * 3
    assert world.assert_live_is_batch() == 1


def test_what_could_not_be_read_at_its_end_is_passed_over_later(talk):
    """A session file that was moved away while katod resumed: its recording goes on after what it says when it is back."""
    talk.say("::start notes\none")
    other = talk.world.session(7)
    other.append(other.typed("hello"))
    talk.world.cli("pause")
    talk.say("secret")
    other.append(other.typed("::start sneaky\nsecret"))
    away = [path.rename(path.with_suffix(".away")) for path in (talk.source.path, other.path)]
    talk.world.cli("pause", "--end")
    for path in away:
        path.rename(path.with_suffix(".jsonl"))
    talk.world.once()
    talk.assert_goes_on()


def test_an_unfinished_line_belongs_to_the_pause(talk):
    """It began before the pause ended, so it is not recorded."""
    talk.say("::start notes\none")
    talk.world.cli("pause")
    torn = line(talk.make.user("secret"))
    talk.source.append(torn[:-20])
    talk.world.cli("pause", "--end")
    talk.source.append(torn[-20:])
    talk.world.once()
    talk.say("two")
    talk.world.once()
    assert "secret" not in talk.text
    assert "two" in talk.text


def test_a_project_that_is_excluded_meanwhile_stays_silent(talk):
    """Its recording ends with a mark when katod resumes."""
    talk.say("::start notes\none")
    talk.world.cli("pause")
    talk.world.configure(exclude=[CWD])
    talk.world.cli("pause", "--end")
    talk.say("secret")
    talk.world.once()
    assert "secret" not in talk.text
    assert "this project is excluded" in talk.text
    assert talk.world.status()["recordings"] == []


def test_a_pause_that_cannot_be_noted_is_refused(talk):
    """The answer says why; nothing changes, and no request stays."""
    talk.say("::start notes\none")
    talk.world.once()
    (talk.world.state / f"{NAME}.part").mkdir()
    talk.world.cli("pause", code=1)
    assert f"{NAME}.part" in talk.world.said
    (talk.world.state / f"{NAME}.part").rmdir()
    (talk.world.state / NAME).mkdir()
    for _ in range(2):
        talk.world.cli("pause", "--end", code=1)
    (talk.world.state / NAME).rmdir()
    talk.say("two")
    talk.world.once()
    assert talk.text.count("Recording resumed") == 1
    assert talk.world.assert_live_is_batch() == 1


def test_a_signal_ends_katod_while_it_pauses(talk):
    """What is not read yet stays; the request is carried out at the next start."""
    talk.say("::start notes\none")
    talk.world.once()
    run = InProcess(talk.world)
    talk.say("two")
    run._signals.stop = "SIGTERM"
    run._schedule.queue(run._discovery.sweep())
    assert run._pause_recording("2026-02-10T23:00:00.000Z") is None
    run.vanish()
    assert not (talk.world.state / NAME).exists()


def test_a_fork_does_not_act_on_a_command_typed_between(talk):
    """Copied history commands nothing, whenever the copy appears."""
    talk.world.cli("pause")
    talk.say("::start notes\nsecret")
    talk.world.once()
    talk.world.cli("pause", "--end")
    copy = talk.world.claude("7f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11")
    copy.append(talk.source.path.read_text())
    talk.world.once()
    assert talk.world.status()["recordings"] == []


def test_a_session_that_begins_between_is_not_recorded_by_itself(talk):
    """Not even its rest, where everything is recorded automatically."""
    talk.world.configure(auto=True)
    talk.world.cli("pause")
    talk.say("secret")
    talk.world.once()
    talk.world.cli("pause", "--end")
    talk.say("two")
    talk.world.once()
    assert list(talk.world.out.rglob("*.md")) == []


def test_both_say_what_they_did(talk):
    """Twice is no error, and the status names the pause and the recordings that wait for its end."""
    talk.say("::start notes\none")
    assert "nothing is recorded until" in talk.world.cli("pause")
    assert "already paused" in talk.world.cli("pause")
    status = talk.world.status()
    assert status["daemon"]["paused"]
    assert [row["paused"] for row in status["recordings"]] == [True]
    shown = talk.world.cli("status")
    assert "nothing is recorded until `katod pause --end`" in shown
    assert "‖  1" in shown
    assert "no longer paused, but it is not running" in talk.world.cli("pause", "--end")
    assert "is not paused" in talk.world.cli("pause", "--end")
    assert "paused" not in talk.world.status()["daemon"]


def test_commands_of_the_shell_are_refused_meanwhile(talk):
    """The reason says what to do."""
    talk.say("hello")
    talk.world.cli("pause")
    talk.world.cli("start", "latest", code=1)
    assert "katod pause --end" in talk.world.said


@pytest.mark.slow
def test_a_running_daemon_pauses(talk):
    """The answer comes when the marks are in the transcript; a recording that catches up waits, too."""
    with Live(talk.world) as live:
        talk.say("::capture notes\none")
        live.until_written("one")
        talk.world.katod("pause")
        assert "Recording paused" in talk.text
        talk.say("secret")
        assert b"no longer paused" in talk.world.katod("pause", "--end").stdout
        talk.say("two")
        live.until_written("two")
    assert "secret" not in talk.text


def test_a_crash_while_it_pauses_leaves_it_paused(talk):
    """If katod dies before the marks are written, the next run writes them."""
    talk.say("::start notes\none")
    talk.world.once()
    run = InProcess(talk.world)
    run._settings.pause("2026-02-10T23:00:00.000Z")
    run.vanish()
    talk.say("secret")
    talk.world.once()
    talk.world.cli("pause", "--end")
    talk.assert_goes_on()


def test_a_crash_while_it_resumes_is_made_up_for(talk):
    """If katod dies before the recordings go on, they do after the next start, once their sessions are read."""
    talk.say("::start notes\none")
    talk.world.cli("pause")
    talk.say("secret")
    talk.world.once()
    run = InProcess(talk.world)
    run._settings.resume()
    run.vanish()
    talk.world.once()
    talk.assert_goes_on()
