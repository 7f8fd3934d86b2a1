"""The real Claude Code, recorded live: a recording contains exactly what the model's own log has for that range."""

import json

import pytest

from tests.support.live import until

from . import judge
from .claude import Claude
from .dialogs import assert_spoken, hold_in_dialogs
from .expanded import hold_with_files
from .handover import take_over
from .oneshot import assert_log_is_a_reference, hold_in_runs
from .onpage import watch, watched
from .recall import assert_told, look_up
from .scenario import assert_reproducible, hold_in_terminal, talk

pytestmark = pytest.mark.slow
CLIENT = Claude


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_a_live_recording_holds_what_the_model_heard_and_said(play, form):
    """Every turn between a typed start and stop is written once, nothing else is; the client's files are unchanged."""
    hold_in_runs(play, form)


def test_the_log_of_the_model_tells_what_the_client_keeps(play):
    """Without katod, the model's log has the same messages as the client's own files, so it can serve as reference."""
    assert_log_is_a_reference(play)


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_a_conversation_in_a_terminal_is_recorded_as_it_was_typed(play, form):
    """Only typed commands act, each once: no pasted one, and none again after an interruption."""
    hold_in_terminal(play, form)


def test_what_the_client_repeats_does_not_act_again(play):
    """No command acts again after a summary, in a fork, or after /clear, and nothing is recorded twice."""
    with play.katod("jsonl") as katod, talk(play) as person:
        person.open()
        person.ask("hello")
        person.ask("::start notes.jsonl\nthe first recorded words")
        person.command("/compact", "Compacted")
        play.note("/compact")
        person.ask("after the summary")
        katod.until_written(play.last_answer(), "notes.jsonl")
        person.leave()
        play.note("::stop")  # a fork is another session, which is not recorded
        person.open("--continue", "--fork-session")
        person.ask("in the fork")
        person.command("/clear")
        person.ask("after the fork")
        person.ask("::start later.jsonl\nthe last words")
        katod.until_written(play.last_answer(), "later.jsonl")
        person.leave()
        judge.assert_outputs(katod, play.log())
        assert_reproducible(katod)


def test_the_reason_of_a_refusal_is_recorded(play):
    """What a person answers to the question whether a tool may run is in the transcript."""
    with play.katod("markdown") as katod, talk(play) as person:
        person.open()
        person.ask("hello")
        person.ask("::start notes.md\nthe first recorded words")
        person.terminal.submit("copy the note (write)")
        person.terminal.wait_for("Do you want to proceed")
        person.terminal.press("Down", "Down", "Tab")  # No, and tell Claude what to do differently
        person.terminal.submit("leave the note alone")
        person.answered(4)
        katod.until_written(play.last_answer(), "notes.md")
        person.leave()
        assert_reproducible(katod)
    call, reason, *_ = [line for line in katod.world.written()["notes.md"].splitlines() if line.lstrip()[:2] == "- "]
    assert "cat note.txt > copy.txt" in call
    assert reason == "  - declined: leave the note alone"
    assert not (play.client.project / "copy.txt").exists()


def test_a_brief_of_another_agents_session_arrives_whole(play):
    """The model is told all of the brief of a Codex session, within its budget and without its secrets."""
    take_over(play, "codex")


def test_the_agent_looks_up_what_was_recorded(play):
    """Added with the command in the manual, `katod mcp` tells the client's model of an earlier session."""
    assert_told(look_up(play))


def test_a_conversation_is_watched_in_a_browser(play):
    """Answers and states are seen as they happen, a recording is started and stopped; nobody else is asked for anything."""
    watch(play)


def test_a_page_says_which_permission_is_waited_for(play):
    """While Claude Code asks whether a tool may run, the list names the tool; once it may, the session goes on."""
    with watched(play) as (person, browser, _):
        browser.click("#home")
        person.terminal.submit("write it (write)")
        browser.sees("waits for your permission to use Bash", "#g-waiting")
        person.terminal.wait_for("Do you want to proceed")
        person.terminal.wait_quiet(play.client.manner.busy)  # keys that come too early are not taken for an answer
        person.terminal.press("Enter")
        browser.sees("done", "#g-recent")


def test_a_long_paste_a_refusal_and_a_new_session_are_what_they_are(play):
    """Nothing pasted acts, no command acts again after a refusal or an interrupted tool, and a new session is said."""
    hold_in_dialogs(play)


def test_an_accepted_plan_is_the_agents_and_commands_nothing(play):
    """Neither the plan that the person accepts nor what follows acts; both are in the transcript, in their order."""
    plan = json.dumps({"plan": "# The plan\n\n1. Look at the note\n\n::stop"})
    play.client.show_all_tools()
    with play.katod("jsonl") as katod, talk(play) as person:
        person.open()
        person.ask("::start notes.jsonl\nthe first recorded words")
        until(lambda: person.terminal.press("BTab") or "plan mode on" in person.terminal.screen(), "the plan mode")
        person.terminal.submit(f"plan it (recall ExitPlanMode {plan})")
        person.terminal.wait_for("Exit plan mode|Ready to code|Would you like to proceed")
        person.terminal.wait_quiet(play.client.manner.busy)  # keys that come too early are not taken for an answer
        person.terminal.press("Enter")
        person.answered(3)
        person.ask("after the plan")
        katod.until_written(play.last_answer(), "notes.jsonl")
        person.leave()
        assert_spoken(katod, play.log())
        assert_reproducible(katod)
    decisions = [
        row for row in map(json.loads, katod.world.written()["notes.jsonl"].splitlines()) if "decision" in row["kind"]
    ]
    assert [row["payload"].get("selections") for row in decisions] == [None, ["approved"]]
    assert "::stop" in decisions[0]["payload"]["prompt"]


def test_no_file_that_a_prompt_is_made_of_is_typed(play):
    """Neither a command or a skill of the project, nor a file that a prompt names."""
    hold_with_files(play)
