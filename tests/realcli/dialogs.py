"""What a person does besides typing prompts: pastes a long text, refuses a permission, leaves a tool, begins anew."""

import json
import re
import time

from tests.support.live import until

from . import judge
from .scenario import assert_reproducible, talk

LONG = "\n".join(
    ["this is what it printed:", *(f"line {n}" for n in range(6)), "::stop", *(f"row {n}" for n in range(6))]
)
SUFFIX = "jsonl"
RUNNING = 1.5  # seconds that a tool runs before it is left


def hold_in_dialogs(play):
    """Hold the conversation; only typed commands act, once, and the output has what the model heard and said."""
    with play.katod(SUFFIX) as katod, talk(play) as person:
        person.open()
        person.ask("hello")
        person.ask("::start notes.jsonl\nthe first recorded words")
        person.ask(LONG)
        refuse(person, "copy the note (write)")
        person.ask("after the refusal")
        leave_tool(person, "wait a moment (nap)")
        person.ask("after the tool")
        katod.until_written(play.last_answer(), "notes.jsonl")
        begin_anew(person)
        play.note("::stop")  # what follows is another session, which is not recorded
        person.ask("in another session")
        until(lambda: "successor" in recordings(katod), "the note of the new session")
        person.ask("::start later.jsonl\nthe last words")
        katod.until_written(play.last_answer(), "later.jsonl")
        assert "successor" not in recordings(katod)
        person.leave()
        assert_spoken(katod, play.kept_log())
        assert "::stop" in katod.world.cli("status").partition("looked like commands but were not")[2]
        assert not (play.client.project / "copy.txt").exists()
        assert_reproducible(katod)


def recordings(katod):
    """Return what `katod status` says of the recordings, as JSON."""
    return json.dumps(katod.world.status()["recordings"])


def refuse(person, prompt):
    """Send a prompt whose call asks for a permission, and refuse it; a client that never asks is not sent it."""
    manner = person.client.manner
    if not manner.asks:
        return
    person.terminal.submit(prompt)
    person.terminal.wait_for(manner.asks)
    person.terminal.wait_quiet(manner.busy if manner.busy not in person.terminal.screen() else "\0")
    person.terminal.press(*manner.refuse)
    person.terminal.until(lambda: not re.search(manner.asks, person.terminal.screen()), "the end of the question")
    person.terminal.wait_quiet(manner.busy)


def leave_tool(person, prompt):
    """Send a prompt whose call takes long, and leave it while it runs."""
    manner, heard = person.client.manner, person.heard()
    person.terminal.submit(prompt)
    person.terminal.until(lambda: person.heard() > heard, "the call")
    time.sleep(RUNNING)
    if manner.asks and re.search(manner.asks, person.terminal.screen()):
        person.terminal.press("Enter")
        time.sleep(RUNNING)
    person.terminal.until(lambda: has_left(person), "the end of the tool")


def has_left(person):
    """Press the keys that stop the client, and return whether it waits for a prompt."""
    person.terminal.press(*person.client.manner.stop)
    time.sleep(RUNNING)
    return not re.search(person.client.manner.busy, person.terminal.screen())


def begin_anew(person):
    """Begin a new session in the client."""
    person.command(person.client.manner.anew)
    for key in person.client.manner.confirm:
        person.terminal.press(key)
    person.terminal.wait_quiet(person.client.manner.busy)


def assert_spoken(katod, log):
    """Assert that the outputs have the messages that the model heard and said in their ranges, and no others."""
    hidden = [quoted(entry) if entry["event"] == "prompt" else entry for entry in log]
    expected, outputs = judge.ranges(hidden), {path.name: path for path in katod.world.files()}
    assert set(outputs) == set(expected)
    for name, turns in expected.items():
        found, wanted = spoken(outputs[name]), [turn for turn in turns if turn[0] in ("user", "assistant")]
        assert found == wanted, (
            f"{name}: {[turn for turn in found if turn not in wanted]}, not {[turn for turn in wanted if turn not in found]}"
        )


def quoted(entry):
    """Return a prompt in which the commands of the paste are none."""
    return entry | {"text": entry["text"].replace(LONG, LONG.replace("::", judge.HIDDEN))}


def spoken(path):
    """Return the messages in an output as (role, text)."""
    roles = {"user.message": "user", "assistant.message": "assistant"}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    said = [(roles[row["kind"]], row["payload"]) for row in rows if row["kind"] in roles]
    return [
        (role, payload["text"].strip() if role == "user" else payload["text"])
        for role, payload in said
        if not payload.get("subtype")
    ]
