"""Texts queued while Claude Code works appear and act once, in whatever order their records are written."""

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.agents.claude.text import ENVELOPES, TextClass, classify
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, Line, Record, SessionKey
from katod.record.translation import Translation
from tests.examples import examples
from tests.looping import each
from tests.support.records import Claude

TASK = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>"
CUT_TASK = r'{"task_id":"b2","summary":"cut \ud83d"}'
JSON_TASK = '{"task_id":"b2","status":"completed"}'
ORIGIN = Origin(Identity(SessionKey("claude", "s")), Path("/nowhere/s.jsonl"))


class Session:
    """A session file that is read while it is written."""

    def __init__(self) -> None:
        self.found: list[Event] = []
        self._number = 0
        self._metadata = SessionMetadata(ORIGIN.identity.key)
        self._translation = Translation(ORIGIN, self._metadata, EventLog())

    def restart(self) -> None:
        """Continue from the stored state."""
        state = orjson.loads(orjson.dumps(self._translation.state()))
        self._translation = Translation(ORIGIN, self._metadata, EventLog(), state)

    def write(self, record: dict[str, Any], *, back: int = 0) -> None:
        """Append a record, dated some records back."""
        self._number += 1
        time = f"2026-02-10T22:36:{self._number // 1000:02d}.{(self._number - back) % 1000:03d}Z"
        row = record | {"sessionId": "s", "timestamp": time, "uuid": f"u{self._number}"}
        line = Line(self._number * 100, self._number * 100 + 100, orjson.dumps(row))
        self.found += chain.from_iterable(self._translation.feed([line]))

    def operation(self, name: str, content: str | None = None) -> None:
        """Append a `queue-operation`."""
        self.write({"type": "queue-operation", "operation": name} | ({} if content is None else {"content": content}))

    def prompt(self, text: str, source: str | None = "queued") -> None:
        """Append a `user` record."""
        marked = {} if source is None else {"promptSource": source}
        self.write({"type": "user", "message": {"role": "user", "content": text}} | marked)

    def attachment(self, text: str, mode: str = "prompt") -> None:
        """Append a `queued_command`."""
        self.write(
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": text, "commandMode": mode}}
        )

    def result(self) -> None:
        """Append a tool's result."""
        block = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
        self.write({"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": "ok"})

    def answer(self, *, back: int = 0) -> None:
        """Append words of the assistant."""
        message = {"id": f"m{self._number}", "role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
        self.write({"type": "assistant", "message": message}, back=back)

    def end(self) -> None:
        """Read the file as an export does, to its end."""
        self.found += chain.from_iterable(self._translation.finish())

    @property
    def texts(self) -> list[str]:
        """The person's messages."""
        return [event.payload["text"] for event in self.found if event.kind == ev.USER_MESSAGE]

    @property
    def commands(self) -> list[str]:
        """The lines that command."""
        return [event.payload["line"] for event in self.found if event.kind == ev.USER_COMMAND]


@pytest.fixture
def session() -> Session:
    """Return an empty session."""
    return Session()


# -- orders seen in real files -----------------------------------------------------------------------


def test_results_between_a_removal_and_its_attachment(session: Session) -> None:
    """Results of tools between the removal and the attachment do not release the text."""
    session.operation("enqueue", "how to test?\n::stop")
    session.operation("remove")
    session.result()
    session.attachment("how to test?\n::stop")
    session.answer()
    session.end()
    assert (session.texts, session.commands) == (["how to test?"], ["::stop"])


def test_an_attachment_before_its_removal(session: Session) -> None:
    """The attachment may be written first; the removal that follows releases nothing, not even another text."""
    session.operation("enqueue", "first\n::stop")
    session.attachment("first\n::stop")
    session.operation("enqueue", "second")
    session.operation("remove")
    session.answer()
    assert (session.texts, session.commands) == (["first"], ["::stop"])


def test_an_answer_written_late_does_not_decide(session: Session) -> None:
    """An answer dated before the removal was written late: the attachment may still come."""
    session.operation("enqueue", "wait\n::stop")
    session.operation("remove")
    session.answer(back=3)
    session.attachment("wait\n::stop")
    assert (session.texts, session.commands) == (["wait"], ["::stop"])


def test_a_removed_text_without_a_record_is_released_by_the_next_answer(session: Session) -> None:
    """Old versions write no attachment: the words still appear, before the answer to them."""
    session.operation("enqueue", "leave the tests\n::stop")
    session.operation("remove")
    session.result()
    assert session.texts == []
    session.answer()
    assert (session.texts, session.commands) == (["leave the tests"], ["::stop"])
    assert session.found[-1].kind == ev.ASSISTANT_MESSAGE


def test_a_text_released_too_early_is_recognised(session: Session) -> None:
    """If its record comes after all, it is neither shown nor obeyed again."""
    session.operation("enqueue", "late\n::stop")
    session.operation("remove")
    session.answer()
    session.restart()
    session.attachment("late\n::stop")
    assert (session.texts, session.commands) == (["late"], ["::stop"])


@pytest.mark.whole
@pytest.mark.parametrize("task", [TASK, JSON_TASK, CUT_TASK])
def test_tasks_that_never_leave_the_queue_do_not_shift_it(session: Session, task: str) -> None:
    """A removal means the person's text although a task of the client was queued before it."""
    session.operation("enqueue", task)
    session.operation("enqueue", "mine")
    session.operation("remove")
    session.answer()
    assert session.texts == ["mine"]


@pytest.mark.whole
@pytest.mark.parametrize("text", ["{not JSON", "{}", '["task_id"]', '"task_id"'])
def test_words_that_only_look_like_a_task_are_the_persons(session: Session, text: str) -> None:
    """A task in JSON is an object that has an id."""
    session.operation("enqueue", text)
    session.operation("remove")
    session.answer()
    assert session.texts == [text]


def test_a_task_that_leaves_takes_no_text_with_it(session: Session) -> None:
    """A task's attachment is matched by its words: the text before it stays in the queue."""
    session.operation("enqueue", "mine")
    session.operation("enqueue", TASK)
    session.operation("remove")
    session.attachment(TASK, "task-notification")
    session.answer()
    assert session.texts == []
    session.operation("dequeue")
    session.prompt("mine")
    assert session.texts == ["mine"]


def test_what_is_still_queued_at_the_end_is_in_an_export(session: Session) -> None:
    """The person typed it, and no record will have it."""
    session.operation("enqueue", "never taken up")
    session.answer()
    assert session.texts == []
    session.end()
    assert session.texts == ["never taken up"]


def test_what_went_back_to_the_editor_was_not_said(session: Session) -> None:
    """After `popAll`, only what the person sends then counts."""
    session.operation("enqueue", "half")
    session.operation("popAll", "half")
    session.prompt("half and whole", "typed")
    session.end()
    assert session.texts == ["half and whole"]


def test_a_slash_command_is_matched_as_it_was_typed(session: Session) -> None:
    """The record has the client's form of it."""
    session.operation("enqueue", "/review  the cart")
    session.operation("dequeue")
    session.prompt("<command-name>/review</command-name>\n<command-args>the cart</command-args>", None)
    session.answer()
    session.end()
    assert session.texts == ["/review the cart"]


def test_the_same_words_typed_again_are_said_again(session: Session) -> None:
    """A prompt typed at the prompt is not taken for one from the queue."""
    session.operation("enqueue", "go on")
    session.operation("remove")
    session.answer()
    session.prompt("go on", "typed")
    assert session.texts == ["go on", "go on"]


def test_pasted_lines_do_not_command_from_the_queue(session: Session) -> None:
    """The client's marks of a paste are understood in the queue and in an attachment, too."""
    text = 'see \n\n<pasted_content id="9e96">\n::stop\n</pasted_content id="9e96">\n'
    for _ in range(2):
        session.operation("enqueue", text)
        session.operation("remove")
    session.attachment(text)
    session.answer()
    assert (session.texts, session.commands) == (["see \n\n::stop"] * 2, [])


def test_a_prompt_typed_at_the_prompt_shows_that_the_queue_is_empty(session: Session) -> None:
    """What left it under other words, or without a trace, does not shift what is queued later."""
    session.operation("enqueue", "/theme")
    session.operation("dequeue")
    session.operation("enqueue", "said without a trace")
    session.prompt("next", "typed")
    assert session.texts == ["said without a trace", "next"]
    session.operation("enqueue", "important\n::stop")
    session.operation("remove")
    session.answer()
    session.end()
    assert session.texts[2:] == ["important"]
    assert session.commands == ["::stop"]


def test_a_task_whose_place_was_given_up_does_not_drop_a_text(session: Session) -> None:
    """Of equal tasks, one may be taken for another; what is left then is a task without a place, and no lost text."""
    session.operation("enqueue", TASK)
    session.operation("enqueue", TASK)
    session.operation("remove")
    session.answer()
    session.operation("enqueue", "go on")
    session.operation("remove")
    session.attachment(TASK, "task-notification")
    session.operation("dequeue")
    session.prompt(TASK, "system")
    session.end()
    assert session.texts == ["go on"]


def test_a_shell_command_is_matched_as_it_was_typed(session: Session) -> None:
    """A task that never leaves is not dropped in its place."""
    session.operation("enqueue", TASK)
    session.operation("enqueue", "ls")
    session.operation("dequeue")
    session.prompt("<bash-input>ls</bash-input>", None)
    session.end()
    assert session.texts == ["! ls"]


def test_a_command_beside_a_paste_acts_from_the_queue(session: Session) -> None:
    """The form of the words outside the paste is that of typed text."""
    session.operation("enqueue", '::start talk\nlook\n\n<pasted_content id="9e96">\na\n</pasted_content id="9e96">\n')
    session.operation("remove")
    session.answer()
    assert session.commands == ["::start talk"]


def test_a_paste_in_the_middle_of_a_line_does_not_command(session: Session) -> None:
    """The client puts line breaks before a paste; if it stopped doing so, a paste would still be one."""
    session.prompt('Look: <pasted_content id="9e96">\n::stop\n::start stolen\n</pasted_content id="9e96">\n', "typed")
    assert session.commands == []


def test_tags_inside_a_paste_do_not_end_it(session: Session) -> None:
    """A page with tags of its own cannot know the id: what follows them is still pasted."""
    page = '\n\n<pasted_content id="aaaa">\nx\n</pasted_content id="aaaa">\n\n::capture evil\nrest'
    session.prompt(f'\n\n<pasted_content id="9e96">\n{page}\n</pasted_content id="9e96">\n', "typed")
    assert session.commands == []
    assert "::capture evil" in session.texts[0]


# -- all orders --------------------------------------------------------------------------------------


class Queued(NamedTuple):
    """A queued text, and the records that follow its `enqueue`, in order."""

    text: str
    after: tuple[str, ...]


TYPED = [("dequeue", "user"), ("remove", "attachment"), ("attachment", "remove"), ("remove",), ()]
TASKS = [("dequeue", "user"), ("remove", "attachment"), ()]
WORDS = st.sampled_from(["go on\n::stop", "and the footer", "no\n::start x", "/review"])


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Queued], list[int]]:
    """Return queued texts, and the order of their records: the number of a text for each of its records."""
    typed = st.builds(Queued, WORDS, st.sampled_from(TYPED))
    tasks = st.builds(Queued, st.sampled_from([TASK, JSON_TASK]), st.sampled_from(TASKS))
    rows = draw(st.lists(st.one_of(typed, tasks), min_size=1, max_size=5))
    order = draw(st.permutations([n for n, row in enumerate(rows) for _ in range(1 + len(row.after))]))
    return rows, list(order)


@examples(3, 1_000)
@given(history=histories(), data=st.data())
def test_each_text_appears_and_acts_once_in_any_order(
    history: tuple[list[Queued], list[int]], data: st.DataObject
) -> None:
    """Whatever the order of records, whatever stands between them and wherever katod restarts."""
    rows, order = history
    session, rests = Session(), {n: ["enqueue", *row.after] for n, row in enumerate(rows)}
    for n in order:
        for noise in data.draw(st.lists(st.sampled_from(["result", "answer", "restart"]), max_size=2)):
            getattr(session, noise)()
        step, text = rests[n].pop(0), rows[n].text
        is_task = text in (TASK, JSON_TASK)
        if step == "user":
            session.prompt(text, "system" if is_task else "queued")
        elif step == "attachment":
            session.attachment(text, "task-notification" if is_task else "prompt")
        else:
            session.operation(step, text if step == "enqueue" else None)
    session.end()
    wanted = [row.text for row in rows if row.text not in (TASK, JSON_TASK)]
    lines = [line for text in wanted for line in text.split("\n")]
    assert Counter(session.texts) == Counter(line for line in lines if not line.startswith("::"))
    assert Counter(session.commands) == Counter(line for line in lines if line.startswith("::"))


@each(
    ("text", "found"),
    [
        ("hello", ("hello", "", True, True)),
        ("a <tag>", ("a <tag>", "", True, True)),
        ("<3 it", ("<3 it", "", True, True)),
        ("Caveat: mine", ("Caveat: mine", "", True, True)),
        ("<tag>x", ("<tag>x", "", True, False)),
        (" [Request interrupted by user]", (" [Request interrupted by user]", "", False, False)),
        ("<command-name>/init</command-name>", ("/init", "slash-command", False, False)),
        ("<command-message>x</command-message>\n<command-name>/init</command-name>", ("/init", "slash-command", False, False)),
        ("<bash-input> ls </bash-input>", ("! ls", "shell", False, False)),
        *((f"\n{opening}x", (f"\n{opening}x", subtype, False, False)) for opening, subtype in ENVELOPES.items()),
    ],
)  # fmt: skip
def test_the_form_of_a_text_says_who_may_have_written_it(text: str, found: tuple[str, str, bool, bool]) -> None:
    """People type plain text; what begins like an element may be theirs, if the record says so."""
    assert classify(text) == TextClass(found[0], found[1], plain=found[2], shape=found[3])


def test_what_is_released_at_the_end_belongs_to_no_record() -> None:
    """Neither to the turn nor to the sub-agent of the last one."""
    make = Claude()
    operation = {"type": "queue-operation", "operation": "enqueue", "content": "never taken up", "sessionId": "s"}
    adapter = AGENTS["claude"].adapter(ORIGIN)
    for n, row in enumerate([operation, make.says("Yes.", isSidechain=True, agentId="a1", promptId="p1")]):
        adapter.feed(Record(n * 100, row))
    [said] = [event for event in adapter.finish() if event.kind == ev.USER_MESSAGE]
    assert (said.payload["text"], said.turn, said.session.subagent) == ("never taken up", "", "")
