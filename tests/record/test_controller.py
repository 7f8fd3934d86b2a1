"""What each command does in each state of a session, what is refused, and what is auto-recorded."""

import errno
from dataclasses import replace
from itertools import chain

import pytest

from katod import events as ev
from katod.agents.spec import SPAWNED
from katod.errors import TargetRefused
from katod.metadata import SessionStart
from katod.model import Command, NearMiss, Range
from katod.record.controller import Controller
from katod.record.naming import OutputNaming
from katod.record.news import News
from tests.support.parts import lines, put
from tests.support.records import CWD, OTHER, SESSION, Claude

SECRET = "ghp" + "_" + "a1B2" * 9

TIME = "2026-02-10T23:00:00.000Z"


class Chat:
    """A session without real content, in which commands are typed, and the controller that handles them."""

    def __init__(self, parts, session=SESSION, make=None):
        self.parts, self.make = parts, make or Claude(session=session)
        self.maker = parts.world.claude(session)
        self.maker.append("")
        self.notes, self.followed, self.commands, self.heard = [], [], [], []
        self.controller = Controller(parts.ledger, parts.catalog, parts.log, self.notes.append, self.followed.append)
        self.controller.use(parts.policy)
        [self.source] = [source for source in parts.sweep() if source.identity.key.id == session]
        self.session = parts.load(self.source)
        self.offset = 0

    def hear(self, *records):
        """Process records as a step does, and what waits for a later one as if there was none."""
        rows = lines(*records, at=self.offset)
        self.offset = rows[-1].end
        stream = self.session.stream
        for event in chain(stream.events(self.source, rows), stream.settle(self.source)):
            self.heard.append(event)
            if event.kind == ev.USER_COMMAND:
                self.commands.append(event.id)
                self.controller.handle(self.session, self.source, event)
            for output in self.session.live:
                output.take(event, self.session.metadata)

    def type(self, text):
        self.hear(self.make.user(text))

    def auto_record(self):
        """Decide about auto-recording as a step does that has these events."""
        for event in self.heard:
            if self.session.row.auto == "wanted":
                self.controller.auto_record(self.session, event)

    def ask(self, word, name=""):
        """Request a command from the shell; return why it is refused."""
        last = self.session.metadata.last
        return self.controller.carry_out(self.session, Command(word, name), last, time=TIME)

    def outputs(self):
        """Return name, state and ranges of each output; a generated name is `*`."""
        return {
            ("*" if row.path.stem.startswith("2026") else row.path.stem): _state(row)
            for row in (output.row for output in self.session.outputs.values())
        }

    def refusals(self):
        return [(word, reason) for _, word, reason in self.session.changes.refusals]


def in_room(settings):
    matrix = settings.matrix._replace(room="!room:example.org", homeserver="https://example.org", token_file="/t")
    return settings._replace(matrix=matrix)


def _state(row):
    return f"{len(row.ranges)} {'open' if row.open else 'ended'} {'live' if row.behind is None else 'behind'}"


@pytest.fixture
def chat(parts):
    return Chat(parts)


# -- each command in each state ----------------------------------------------------------------------

NOTHING, RECORDING, STOPPED = (), ("::start a",), ("::start a", "::stop")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("before", "command", "expected"),
    [
        (NOTHING, "::start", {"*": "1 open live"}),
        (NOTHING, "::start b", {"b": "1 open live"}),
        (NOTHING, "::stop", {}),
        (NOTHING, "::capture", {"*": "1 open behind"}),
        (NOTHING, "::capture b", {"b": "1 open behind"}),
        (NOTHING, "::export b", {"b": "1 ended behind"}),
        (RECORDING, "::start", {"a": "1 open live"}),
        (RECORDING, "::start a", {"a": "1 open live"}),
        (RECORDING, "::start b", {"a": "1 ended live", "b": "1 open live"}),
        (RECORDING, "::stop", {"a": "1 ended live"}),
        (RECORDING, "::capture", {"a": "1 ended live", "*": "1 open behind"}),
        (RECORDING, "::capture b", {"a": "1 ended live", "b": "1 open behind"}),
        (RECORDING, "::export", {"a": "1 open live", "*": "1 ended behind"}),
        (RECORDING, "::export b", {"a": "1 open live", "b": "1 ended behind"}),
        (STOPPED, "::start", {"a": "2 open live"}),
        (STOPPED, "::start a", {"a": "2 open live"}),
        (STOPPED, "::start b", {"a": "1 ended live", "b": "1 open live"}),
        (STOPPED, "::stop", {"a": "1 ended live"}),
        (STOPPED, "::capture", {"a": "1 ended live", "*": "1 open behind"}),
        (STOPPED, "::export b", {"a": "1 ended live", "b": "1 ended behind"}),
    ],
)
def test_a_command_acts_by_where_the_session_stands(chat, before, command, expected):
    """Each command does what the table says, whether the session is idle, recorded or stopped."""
    for typed in before:
        chat.type(typed)
    chat.type(command)
    assert (chat.refusals(), chat.outputs()) == ([], expected)
    behind = [output for output in chat.session.outputs.values() if output.row.behind is not None]
    assert chat.followed == behind


def kept(chat):
    """Return what is kept: where each range begins and ends, by the words there, and its mark."""
    words = {event.id: event.payload.get("text", event.payload.get("line")) for event in chat.heard}
    rows = [output.row.ranges[0] for output in chat.session.outputs.values() if not output.open]
    return [(words[row.start], words.get(row.until, ""), words[row.end], row.end_mark) for row in rows]


@pytest.mark.parametrize("before", [NOTHING, RECORDING, STOPPED])
def test_exchanges_are_kept_wherever_the_session_stands(chat, before):
    """A recording goes on, one that was stopped stays so, and what is said later is not part of them."""
    for typed in before:
        chat.type(typed)
    stood = chat.outputs()
    chat.hear(chat.make.user("one"), chat.make.says("1"), chat.make.user("two"), chat.make.says("2"))
    chat.type("::keep x")
    chat.type("::keep 2 y")
    assert (chat.refusals(), chat.outputs()) == ([], stood | {"x": "1 ended behind", "y": "1 ended behind"})
    assert kept(chat)[-2:] == [("two", "::keep x", "::keep x", ""), ("one", "::keep x", "::keep 2 y", "")]
    assert [output.row.path.stem for output in chat.followed] == ["x", "y"]


def test_what_is_kept_ends_before_the_words_of_the_command(chat):
    """An answer that is not complete is marked, and without a question nothing is kept."""
    chat.type("thanks\n::keep a")
    assert chat.refusals() == [("keep", "nothing was asked before it in this session")]
    chat.hear(chat.make.runs("call-1", "make"))
    chat.type("more\n::keep b")
    assert kept(chat) == [("thanks", "", "::keep b", "unfinished")]
    chat.hear(chat.make.says("done"))
    chat.type("last\n::keep c")
    assert kept(chat)[1:] == [("thanks", "last", "::keep c", "")]
    assert chat.ask("keep", "d") == ""
    assert kept(chat)[2:] == [("last", "", "::keep c", "unfinished")]


def test_a_chosen_exchange_is_kept(chat):
    """By its question; any other event is refused with the reason."""
    chat.hear(chat.make.user("one"), chat.make.says("1"), chat.make.user("two"), chat.make.says("2"))
    first, answer = (event for event in chat.heard if event.payload.get("text") in ("one", "1"))

    def ask(question):
        command = Command("keep", "x", question=question)
        return chat.controller.carry_out(chat.session, command, chat.session.metadata.last, time=TIME)

    assert ask(answer.id) == "nothing was asked before it in this session"
    assert chat.refusals() == [], "whoever clicks reads the reason"
    assert ask(first.id) == ""
    assert kept(chat) == [("one", "two", None, "")]


def test_what_is_kept_is_named_by_its_question(chat):
    """Its file waits for that, whatever the session is called; a name that was typed is the title."""
    chat.hear(chat.make.user("one"), chat.make.says("1"))
    chat.type("::keep")
    chat.type("::keep mine")
    waiting, named = chat.session.outputs.values()
    assert (waiting.waits, named.waits, named.row.head["metadata"]["title"]) == (True, False, "mine")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("before", "command", "expected"),
    [
        (NOTHING, "::start ../x", {"*": "1 open live"}),
        (NOTHING, "::capture ../x", {"*": "1 open behind"}),
        (NOTHING, "::export x.exe", {"*": "1 ended behind"}),
        (RECORDING, "::start ../x", {"a": "1 ended live", "*": "1 open live"}),
        (RECORDING, "::capture a", {"a": "1 ended live", "*": "1 open behind"}),
        (RECORDING, "::export a", {"a": "1 open live", "*": "1 ended behind"}),
        (STOPPED, "::start ../x", {"a": "1 ended live", "*": "1 open live"}),
        (STOPPED, "::stop ../x", {"a": "1 ended live"}),
    ],
)
def test_a_name_that_cannot_be_had_costs_nothing(chat, before, command, expected):
    """The conversation goes to a generated name."""
    for typed in before:
        chat.type(typed)
    chat.type(command)
    assert chat.outputs() == expected
    word, _, name = command.removeprefix("::").partition(" ")
    assert [(refused, name in reason) for refused, reason in chat.refusals()] == (
        [] if word == "stop" else [(word, True)]
    )


def test_a_refused_name_is_named_in_the_transcript_without_its_secrets(chat):
    """The mark says which name was refused and why; the name is redacted, and cut if it is long."""
    chat.type(f"::start ../{SECRET}/{'x' * 100}\nwords")
    [output] = chat.session.live
    output.stage()
    [mark] = [row for row in output.row.intent.decode().splitlines() if "chose this file" in row]
    assert mark.startswith('*katod chose this file: the name "../\\[REDACTED:github-token\\]/xxx')
    assert mark.endswith("(write it without them)*")
    assert SECRET not in mark
    assert len(mark) < 240
    [(_, reason)] = chat.refusals()
    assert len(reason.split('"')[1]) == 80


def test_a_refused_name_says_at_once_where_the_words_go(chat):
    """Also while another file is recorded to; without words below the command, the file has no name yet."""
    chat.type("::start one")
    chat.type("::start ../two\nthese words")
    chat.type("::start ../three")
    first, second = (reason.rpartition("; ")[2] for _, reason in chat.refusals())
    assert first.startswith("katod writes to ")
    assert first.endswith("these-words-6f1c2c1e.md instead")
    assert second == "katod names the file after your next words"


def test_several_commands_in_one_message_act_in_their_order(chat):
    """Each command is handled in the state that the one before it left."""
    chat.type("::start a\n::stop\n::start b")
    assert chat.outputs() == {"a": "1 ended live", "b": "1 open live"}


def test_a_typed_range_begins_and_ends_at_its_commands(chat):
    """The range includes its commands, and uses the options that were typed."""
    chat.type("::start a +tools")
    chat.type("::stop")
    [found] = chat.session.present.row.ranges
    assert (found.inclusive, found.start_time, found.end_time, found.end_mark) == (True, "", "", "stopped")
    assert found.switches == (("tools", True),)
    assert [found.start, found.end] == chat.commands


def test_a_stop_overrides_auto_recording(chat):
    """A typed stop disables auto-recording, even before anything is recorded."""
    chat.session.decide_auto("wanted")
    chat.type("::stop")
    assert chat.session.row.auto == "off"


def test_a_capture_is_marked_where_it_was_asked_for(chat):
    """A capture begins with the session and has a mark where it was requested; an export has no marks."""
    chat.type("words before")
    chat.type("::capture a -thinking")
    chat.type("::export b")
    [capture], [export] = (output.row.ranges for output in chat.session.outputs.values())
    assert (capture.start, bool(capture.mark_at), capture.switches) == ("", True, (("thinking", False),))
    assert [news.kind for news in chat.notes] == ["recording"]
    assert (export.start, export.marked, export.end_mark, bool(export.end)) == ("", False, "", True)


# -- once, and not in history ------------------------------------------------------------------------


def test_a_command_acts_once(chat):
    """A command is obeyed once, within a step and after it was stored."""
    row = chat.make.user("::export b")
    *_, event = chat.session.stream.events(chat.source, lines(row))
    for _ in range(2):
        chat.controller.handle(chat.session, chat.source, event)
    assert (chat.outputs(), chat.refusals()) == ({"b": "1 ended behind"}, [])
    chat.session.changes.save(chat.session.row, chat.parts.ledger)
    chat.session.saved()
    chat.controller.handle(chat.session, chat.source, event)
    assert (chat.outputs(), chat.refusals()) == ({"b": "1 ended behind"}, [])


def test_a_command_of_history_is_noted_and_does_nothing(chat):
    """A command in history is stored as applied and ignored, so that no copy of it is obeyed either."""
    put(chat.source, baseline=10_000)
    chat.type("::start a")
    assert (chat.outputs(), len(chat.session.changes.applied)) == ({}, 1)


# -- refusals ----------------------------------------------------------------------------------------


def test_a_refusal_is_kept_logged_and_notified(chat):
    """A refusal is stored and notified with the reason, but without the typed line; the log has no reason."""
    chat.parts.configure(exclude=[CWD])
    chat.controller.use(chat.parts.policy)
    chat.type("::start private")
    [(time, word, reason)] = chat.session.changes.refusals
    assert (time, word) == (chat.session.metadata.time, "start")
    assert "private" not in reason
    assert chat.parts.said("command.refused") == [{"command": "start", "session": str(chat.session.row.key)}]
    assert [(news.kind, news.what) for news in chat.notes] == [("refused", f"::start: {reason}")]
    assert chat.parts.said("command.applied") == []


def test_the_first_near_miss_of_a_session_is_notified(chat):
    """Once, with what it looks like; all of them are kept."""
    for kind in ("misspelt", "indented"):
        chat.controller.note_near_misses(chat.source, [NearMiss(kind, "start")])
    assert chat.notes == [News("near miss", what="a misspelt ::start")]
    chat.parts.catalog.changed(chat.source)
    chat.parts.catalog.flush()
    chat.controller.note_near_misses(chat.source, [NearMiss("pasted", "stop")])
    assert (len(chat.notes), len(chat.parts.ledger.near_misses())) == (1, 2)


def test_the_shell_is_told_why_it_is_refused(chat):
    """The answer is the reason; a command that is executed gives an empty one."""
    chat.hear(chat.make.user("words"))
    (chat.parts.world.out / "app").mkdir(parents=True)
    path = chat.parts.world.out / "app" / "taken.md"
    path.write_text("dear diary")
    assert chat.ask("start", "taken") == "the file already exists (choose another name)"
    assert chat.ask("start", "free") == ""


@pytest.mark.whole
@pytest.mark.parametrize("word", ["start", "capture", "export"])
def test_an_excluded_project_is_never_recorded(chat, word):
    """Every command that would record an excluded project is refused; a stop is obeyed."""
    chat.type("words")
    chat.parts.configure(exclude=[CWD])
    chat.controller.use(chat.parts.policy)
    chat.type(f"::{word} a")
    assert (chat.outputs(), chat.refusals()) == ({}, [(word, "this project is excluded by the configuration")])
    chat.type("::stop")
    assert chat.session.row.auto == "off"


@pytest.mark.whole
@pytest.mark.parametrize(("number", "passes"), [(errno.EMFILE, True), (errno.EIO, False)])
def test_a_passing_trouble_of_the_machine_undoes_the_step(chat, monkeypatch, number, passes):
    """A temporary error is raised, so that the command is obeyed when the step is retried; any other is a refusal."""

    def fail(*_, **__):
        raise OSError(number, "trouble")

    monkeypatch.setattr(chat.controller.naming, "claim", fail)
    if passes:
        with pytest.raises(OSError, match="trouble"):
            chat.type("::start a")
    else:
        chat.type("::start a")
    assert chat.outputs() == {}
    assert [word for word, _ in chat.refusals()] == ([] if passes else ["start"])


def test_the_first_words_below_a_command_name_the_file(chat):
    """The log says that it has a name, and the person hears it."""
    chat.type("::start")
    [output] = chat.session.live
    [*_, event] = chat.session.stream.events(chat.source, lines(chat.make.user("login page"), at=5000))
    chat.controller.name(output, event, chat.session.metadata)
    assert (output.waits, output.row.head["metadata"]["title"]) == (False, "login page")
    assert chat.parts.said("output.named") == [{"output": output.id}]
    assert [(news.kind, news.title) for news in chat.notes] == [("waiting", ""), ("named", "login page")]


def test_a_file_that_cannot_have_its_name_keeps_the_one_of_its_time(chat, monkeypatch):
    """The reason is in the ledger with the text that waited, and is told."""
    chat.type("::start")
    [output] = chat.session.live
    [*_, event] = chat.session.stream.events(chat.source, lines(chat.make.user("login page"), at=5000))

    def refuse(*_given):
        raise TargetRefused("no unused file name found")

    monkeypatch.setattr(OutputNaming, "rename", refuse)
    with chat.parts.ledger.transaction():
        chat.controller.name(output, event, chat.session.metadata)
    assert (output.waits, output.row.head["metadata"]["title"]) == (False, "app 2026-02-10 23:37")
    assert [(row.word, row.reason) for row in chat.parts.ledger.refusals()] == [("start", "no unused file name found")]
    assert [news.kind for news in chat.notes] == ["waiting", "refused"]


def test_nobody_types_words_to_what_an_agent_started(chat):
    """Its file is named at once, after its project and time."""
    chat.session.metadata.start = chat.session.metadata.start._replace(origin=SPAWNED)
    chat.type("::start")
    [output] = chat.session.live
    assert (output.waits, output.row.head["metadata"]["title"]) == (False, "app 2026-02-10 23:37")


def test_a_recording_is_delivered_if_the_settings_name_a_room(chat):
    """From the range that begins; an output without a range in it is not."""
    chat.type("::start a")
    chat.controller.use(replace(chat.parts.policy, settings=in_room(chat.parts.policy.settings)))
    chat.type("::stop\n::start a")
    deliveries, output = chat.parts.ledger.deliveries, chat.session.present.id
    assert [deliveries.numbers(output, room) for room in ("!room:example.org", "!other:example.org")] == [[1], []]


@pytest.mark.whole
@pytest.mark.parametrize("typed", [True, False])
def test_a_stop_ends_a_recording_for_good_that_katod_paused(chat, typed):
    """It is not recorded again when the pause ends, nor auto-recorded; from the shell, its mark is written at once."""
    chat.session.decide_auto("wanted")
    chat.type("::start a\nwords")
    [output] = chat.session.live
    chat.controller.end(chat.session, output, chat.session.metadata.last, mark="paused")
    chat.session.settle(output)
    output.stage()
    put(output, intent=None)
    if typed:
        chat.type("::stop")
    else:
        chat.ask("stop")
    output.stage()
    assert "*Recording stopped" in (output.row.intent or b"").decode()
    assert (chat.session.row.auto, output.row.paused, output.open) == ("off", False, False)
    assert [row.end_mark for row in output.row.ranges] == ["paused", "stopped"]


def test_what_goes_on_from_a_forgotten_session_is_not_auto_recorded(parts, monkeypatch):
    """It names that session, unless that is of another one, or started it as a sub-agent."""
    chat = auto(parts, auto=True)
    monkeypatch.setattr(chat.controller._catalog, "has_forgotten", lambda key: key.id == OTHER)
    chat.type("words")
    for start, expected in (
        (SessionStart(), "wanted"), (SessionStart(parent="another"), "wanted"), (SessionStart(parent=OTHER, origin=SPAWNED), "wanted"),
        (SessionStart(parent=OTHER), "off"),
    ):  # fmt: skip
        chat.session.metadata.start = start
        chat.controller.leave_copies(chat.session, chat.heard[-1])
        assert chat.session.row.auto == expected


# -- from the shell ----------------------------------------------------------------------------------


def test_a_command_from_the_shell_acts_after_the_last_event(chat):
    """Its marks are not part of the conversation: they are written at once, with the time of the request."""
    chat.type("words")
    last = chat.session.metadata.last
    chat.ask("start", "a")
    [output] = chat.session.outputs.values()
    row = output.row
    assert (row.ranges[0].start, row.ranges[0].inclusive, row.ranges[0].start_time) == (last, False, TIME)
    assert chat.session.live == [output]
    output.stage()
    assert output.row.intent.decode().endswith("*Recording started 00:00*\n")
    put(output, intent=None)
    chat.ask("stop")
    output.stage()
    row = output.row
    assert row.intent.decode() == "\n*Recording stopped 00:00*\n"
    assert (row.ranges[0].end, row.ranges[0].end_time, row.open) == (last, TIME, False)
    assert output.printer.done


def test_a_stop_of_what_can_no_longer_be_read_ends_the_range_all_the_same(chat):
    """The range ends after an unknown event."""
    output = chat.parts.output(chat.session, "a")
    chat.controller.begin(chat.session, output, Range("gone"), "")
    assert chat.ask("stop") == ""
    assert (output.open, output.row.ranges[0].end) == (False, "?")


def test_a_recording_is_announced_and_its_end_too(chat):
    """The start and end of a recording are logged and notified."""
    chat.type("::start a")
    chat.type("::stop")
    path = chat.parts.world.out / "app" / "a.md"
    assert [(news.kind, news.path) for news in chat.notes] == [("recording", path), ("stopped", path)]
    assert len(chat.parts.said("recording.started")) == len(chat.parts.said("recording.ended")) == 1
    assert [fields["command"] for fields in chat.parts.said("command.applied")] == ["start", "stop"]


def test_an_output_is_printed_to_once_whatever_begins_in_it(chat):
    """An output started again has only one live printer: two would write everything twice."""
    for typed in ("::start a", "::stop", "::start a"):
        chat.type(typed)
    assert len(chat.session.live) == 1
    assert chat.session.live[0] is chat.session.recording


# -- auto-recording ----------------------------------------------------------------------------------


def auto(parts, session=SESSION, make=None, **settings):
    """Return a chat whose session may be auto-recorded."""
    parts.configure(**settings)
    chat = Chat(parts, session, make)
    chat.session.decide_auto("wanted")
    return chat


def test_a_session_is_auto_recorded_from_its_beginning(parts):
    """Auto-recording starts once the project and the first prompt are known, and includes the whole session."""
    chat = auto(parts, auto=True)
    chat.hear(chat.make.user("not the person", isMeta=True))
    chat.auto_record()
    assert (chat.outputs(), chat.session.row.auto) == ({}, "wanted")
    chat.type("first words")
    chat.auto_record()
    assert (chat.outputs(), chat.session.row.auto) == ({"*": "1 open behind"}, "yes")
    assert chat.session.present is chat.session.recording
    assert chat.session.recording.row.ranges[0].start == ""


def test_a_session_is_auto_recorded_when_the_agent_speaks(parts):
    """A session without words of the person, or without a known project, is auto-recorded at the agent's first words."""
    chat = auto(parts, auto=True)
    chat.hear(chat.make.says("I go on with the plan"))
    chat.auto_record()
    assert chat.outputs() == {"*": "1 open behind"}
    assert chat.session.recording.row.head["metadata"]["title"].startswith("app 2026-")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"auto": True}, ""),
        ({"auto": True, "exclude": ["~/secret"]}, "`recording.exclude` may exclude it"),
        ({"auto": ["~/app"]}, "`recording.auto` only lists some"),
    ],
)
def test_a_session_of_an_unknown_project_is_auto_recorded_if_no_project_is_left_out(parts, settings, reason):
    """It is recorded in the folder of no project; if the settings tell projects apart, it is not, and that is said."""
    chat = auto(parts, make=Claude(cwd=""), **settings)
    chat.type("first words")
    chat.auto_record()
    assert (chat.outputs(), chat.refusals()) == ({}, [])
    chat.hear(chat.make.says("first answer"))
    chat.auto_record()
    if reason:
        refusal = f"auto-record: its project is not known, and {reason}"
        assert (chat.outputs(), chat.session.row.auto, chat.refusals()) == ({}, "no", [("start", refusal)])
    else:
        assert (chat.refusals(), chat.session.row.auto) == ([], "yes")
        assert chat.session.recording.row.path.relative_to(parts.world.out).parts[0] == "no-project"


@pytest.mark.whole
@pytest.mark.parametrize("settings", [{"auto": ["/elsewhere"]}, {"auto": True, "exclude": [CWD]}, {"subagents": True}])
def test_a_session_of_another_project_is_not_auto_recorded(parts, settings):
    """The decision is made once, and is not a refusal."""
    chat = auto(parts, **settings)
    chat.type("first words")
    chat.auto_record()
    assert (chat.outputs(), chat.session.row.auto, chat.refusals()) == ({}, "no", [])


def test_a_session_that_is_recorded_already_is_not_auto_recorded(parts):
    """A session that is already recorded is not auto-recorded as well."""
    chat = auto(parts, auto=True)
    chat.type("::start a\nfirst words")
    chat.auto_record()
    assert (chat.outputs(), chat.session.row.auto) == ({"a": "1 open live"}, "no")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TargetRefused("no place"), "no place"),
        (OSError(errno.EIO, "broken"), "broken"),
        (OSError(errno.EMFILE, "x"), ""),
    ],
)
def test_an_auto_recording_that_has_no_place_is_refused(parts, monkeypatch, error, reason):
    """The refusal is stored and not retried; a temporary error undoes the step."""
    chat = auto(parts, auto=True)
    chat.type("first words")

    def fail(_):
        raise error

    monkeypatch.setattr(chat.controller.naming, "generated", fail)
    if not reason:
        with pytest.raises(OSError, match="x"):
            chat.auto_record()
        assert chat.session.row.auto == "wanted"
        return
    chat.auto_record()
    assert (chat.refusals(), chat.session.row.auto) == ([("start", f"auto-record: {reason}")], "no")
    assert chat.outputs() == {}


@pytest.mark.whole
@pytest.mark.parametrize("settings", [{"auto": True}, {"subagents": True}, {}])
def test_whether_a_session_may_be_auto_recorded_is_decided_once(parts, settings):
    """The decision is stored when the source is found: later settings do not affect an old session."""
    parts.configure(**settings)
    chat = Chat(parts)
    assert chat.controller.wants(chat.source, new=True) is bool(settings)
    assert parts.ledger.session(chat.source.session).auto == ("wanted" if settings else "no")
    parts.configure(auto=not settings)
    chat.controller.use(parts.policy)
    assert chat.controller.wants(chat.source, new=True) is bool(settings)


@pytest.mark.whole
@pytest.mark.parametrize(("recorded", "setting", "expected"), [(True, True, 1), (True, False, 0), (False, True, 0)])
def test_a_sub_agent_goes_where_its_parent_goes(parts, recorded, setting, expected):
    """A sub-agent is recorded next to its parent's output if the parent is recorded and the settings allow it."""
    parts.configure(subagents=setting, auto=not setting)
    chat = Chat(parts)
    if recorded:
        chat.type("::start notes")
        chat.session.save(parts.ledger)
    child = parts.world.claude(OTHER)
    child.path = chat.maker.path.with_suffix("") / "subagents" / "agent-abc.jsonl"
    child.append("")
    [source] = parts.sweep()
    assert source.identity.key.subagent == "abc"
    session = parts.load(source)
    session.decide_auto("wanted")
    [*_, last] = session.stream.events(source, lines(Claude().user("look", isSidechain=True, agentId="abc")))
    chat.controller.auto_record(session, last)
    names = [str(output.row.path.relative_to(parts.world.out)) for output in session.outputs.values()]
    assert names == ["app/notes.agents/agent-abc.md"] * expected


@pytest.mark.whole
@pytest.mark.parametrize("setting", [True, False])
def test_a_reviewer_that_names_no_parent_is_recorded_as_sub_agents_are(parts, setting):
    """What an agent started without naming its parent is auto-recorded like any session if sub-agents are."""
    chat = auto(parts, auto=True, subagents=setting)
    chat.hear(chat.make.user("review this"), chat.make.says("it is good"))
    chat.session.metadata.start = chat.session.metadata.start._replace(origin=SPAWNED)
    chat.auto_record()
    assert chat.outputs() == ({"*": "1 open behind"} if setting else {})
    assert (chat.session.row.auto, chat.refusals()) == ("yes" if setting else "no", [])


# -- exclusion ---------------------------------------------------------------------------------------


def test_what_is_recorded_of_a_project_that_is_excluded_now_is_ended(chat):
    """The recording of a newly excluded project ends with a mark that gives the reason; others continue."""
    chat.type("::start a\nwords")
    chat.controller.end_unwanted(chat.session)
    assert chat.outputs() == {"a": "1 open live"}
    chat.parts.configure(exclude=[CWD])
    chat.controller.use(chat.parts.policy)
    chat.controller.end_unwanted(chat.session)
    chat.controller.end_unwanted(chat.session)
    [output] = chat.session.outputs.values()
    row = output.row
    assert (row.open, row.ranges[0].end_mark, row.ranges[0].end_time) == (False, "excluded", chat.session.metadata.time)
    output.stage()
    assert "this project is excluded" in output.row.intent.decode()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("command", "title", "waits"),
    [
        ("::export", "Old words", False),
        ("::capture", "Old words", False),
        ("::export\nnew words", "Old words", False),
        ("::capture\nnew words", "Old words", False),
        ("::start\nnew words", "new words", False),
        ("::start", "app 2026-02-10 23:38", True),
        ("::export b", "b", False),
        ("::start b", "b", False),
    ],
)
def test_a_recording_of_the_whole_session_has_its_title(chat, command, title, waits):
    """A recording that begins here is called after the words below its command, and waits for them."""
    chat.type("Old words")
    chat.type(command)
    [output] = chat.session.outputs.values()
    assert output.row.head["metadata"].get("title") == title
    assert (output.row.held is not None) == waits
