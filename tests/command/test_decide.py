"""What a command does, given the state of its session: the whole table."""

from katod.command.grammar import Action, RecordingState, decide
from katod.model import Command
from tests.looping import each

IDLE = RecordingState()
STOPPED = RecordingState(present="/out/a.md")
RECORDING = RecordingState(recording="/out/a.md", present="/out/a.md")
NOTHING = Action()

TABLE = [
    # command, state of the session, path that the name resolves to, what is done
    ("start", IDLE, "", Action(begin="here", target="generated")),
    ("start", IDLE, "/out/b.md", Action(begin="here", target="named")),
    ("start", STOPPED, "", Action(begin="here", target="present")),
    ("start", STOPPED, "/out/a.md", Action(begin="here", target="named")),
    ("start", STOPPED, "/out/b.md", Action(begin="here", target="named")),
    ("start", RECORDING, "", NOTHING),
    ("start", RECORDING, "/out/a.md", NOTHING),
    ("start", RECORDING, "/out/b.md", Action(end=True, begin="here", target="named")),
    ("stop", IDLE, "", NOTHING),
    ("stop", STOPPED, "", NOTHING),
    ("stop", RECORDING, "", Action(end=True)),
    ("capture", IDLE, "", Action(begin="beginning", target="generated")),
    ("capture", IDLE, "/out/b.md", Action(begin="beginning", target="named")),
    ("capture", STOPPED, "", Action(begin="beginning", target="generated")),
    ("capture", STOPPED, "/out/a.md", Action(begin="beginning", target="named")),
    ("capture", RECORDING, "", Action(end=True, begin="beginning", target="generated")),
    ("capture", RECORDING, "/out/a.md", Action(end=True, begin="beginning", target="named")),
    ("capture", RECORDING, "/out/b.md", Action(end=True, begin="beginning", target="named")),
    *(
        ("export", state, named, Action(copy=True, target="named" if named else "generated"))
        for state in (IDLE, STOPPED, RECORDING)
        for named in ("", "/out/a.md", "/out/b.md")
    ),
]


@each(("word", "state", "named", "action"), TABLE)
def test_command_does_what_the_table_says(word, state, named, action):
    """Each command does one thing in each state, whether its name means this output, another or none."""
    assert decide(Command(word), state, named) == action


@each(("word", "state", "named", "decision"), TABLE)
def test_switches_do_not_change_what_a_command_does(word, state, named, decision):
    """Options apply to the range that a command opens; what it does is the same with them."""
    plain = decide(Command(word), state, named)
    assert decide(Command(word, switches=(("tools", True),)), state, named) == plain


@each("state", [IDLE, STOPPED, RECORDING])
def test_started_recording_is_started_once(state):
    """A second `::start` for the same output does nothing more."""
    path = state.present or "/out/new.md"
    assert decide(Command("start"), RecordingState(path, path)) == NOTHING


def test_recording_to_another_output_than_the_present_one_goes_on():
    """A bare `::start` while something is recorded does nothing, whatever the session's current output is."""
    assert decide(Command("start"), RecordingState("/out/a.md", "/out/b.md"), "/out/a.md") == NOTHING


@each("word", ["start", "stop", "capture", "export"])
@each("state", [IDLE, STOPPED])
def test_nothing_is_ended_where_nothing_is_recorded(word, state):
    """A command ends a recording only if there is one."""
    assert not decide(Command(word), state, "/out/x.md").end


@each("state", [IDLE, STOPPED, RECORDING])
def test_export_leaves_the_recording_untouched(state):
    """An export neither ends nor begins a recording."""
    action = decide(Command("export"), state)
    assert (action.end, action.begin, action.copy) == (False, "", True)
