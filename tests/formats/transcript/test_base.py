"""From events to the content of a transcript: headings, times, tools, notes, and the end of a turn."""

import json

from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.transcript.base import Transcript
from katod.formats.transcript.content import (
    AgentHeading,
    AskedQuestion,
    Attachment,
    ChosenAnswer,
    Delegation,
    Fold,
    Footer,
    Inline,
    Link,
    MarkLine,
    Note,
    Outcome,
    PassedTime,
    Person,
    Prose,
    Quoted,
    Thinking,
    ToolLine,
    TypedWords,
)  # fmt: skip
from katod.formats.transcript.pictures import asset_name
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from tests.formats.conversation import (
    KEY,
    MINUS,
    TIMES,
    answers,
    asks,
    call,
    ends,
    event,
    full,
    metadata,
    pieces,
    play,
    result,
    says,
    thinks,
    todo,
    user,
)
from tests.looping import each

SECRET = "gh" + "p_" + "a1B2c3D4e5" * 4


def only(kind, found):
    return [piece for piece in found if isinstance(piece, kind)]


def lines(found):
    """Return tools and outcomes as words."""
    shown = []
    for piece in only((ToolLine, Outcome), found):
        name = [piece.name] if isinstance(piece, ToolLine) else ["  "]
        spans = (*piece.about, *piece.outcome) if isinstance(piece, ToolLine) else piece.line
        shown.append(" ".join([*name, *(span.text for span in spans)]))
    return shown


def between(name, words, text="", notes=()):
    """Return words between agents as they are shown."""
    return Delegation(name, (Inline("text", f"· {words}"),), notes, (Prose(text or words),))


# -- the head ----------------------------------------------------------------------------------------


def test_head_has_what_is_known():
    """Title, agent, project and start are those of the session; the project is a name, not a path."""
    head = Transcript(Options(time_zone="Europe/Berlin")).head(metadata(model="claude-opus-4-6"), TIMES["a"])
    assert (head.title, head.agent, head.product) == (
        "Add authentication to my app",
        "claude-code",
        "Claude Code 2.1.39",
    )
    assert (head.project, head.branch, head.model) == ("app", "main", "claude-opus-4-6")
    assert (head.date, head.when) == ("2026-02-10", "2026-02-10 23:36 (Europe/Berlin)")


def test_head_without_a_title_names_the_agent():
    """What is not known is empty, and a title is generated."""
    head = Transcript(Options()).head(SessionMetadata(SessionKey("codex", "s", "a1"), {"parent": "p"}), "")
    assert (head.title, head.subagent, head.parent) == ("Conversation with Codex", "a1", "p")
    assert (head.model, head.project, head.date, head.when) == ("", "", "", "")


def test_long_title_is_cut_at_a_word():
    """A title has at most 80 characters."""
    title = Transcript(Options()).head(metadata(title="word " * 40), "").title
    assert title == "word " * 15 + "word…"


# -- the person --------------------------------------------------------------------------------------


def test_each_message_has_a_heading_with_its_first_words():
    """A message of one short line is its heading; a longer one has a body as well."""
    long = "I want to add authentication to my shop, and I want it today. Can you help?"
    assert pieces(user("one"), user("two\nlines", "b"), user(long, "b")) == [
        Person("You", "2026-02-10 23:36", "one", whole=True),
        Person("You", "23:52", "two"), TypedWords("two\nlines"),
        Person("You", "23:52", "I want to add authentication to my shop, and I want it…"), TypedWords(long),
    ]  # fmt: skip


@each("text", ["# one", "a  b", "  indented", "[Image #1] look", "@a.py", "> quoted"])
def test_message_that_its_heading_changes_is_shown_below(text):
    """A heading has no markup; the message below it has what was typed."""
    assert only(TypedWords, pieces(user(text))) == [TypedWords(text)]


def test_task_of_a_sub_agent_is_no_message_of_the_person():
    """In the transcript of a sub-agent, the task that it was given is collapsed, and called so."""
    key = SessionKey("claude", KEY.id, "a1")
    task = {"text": "# Look.\nAt all.", "subtype": ev.Between.TASK}
    step = Event("id", ev.USER_MESSAGE, SessionRef("claude", KEY.id, "a1"), task, {})
    assert pieces(step, known=SessionMetadata(key)) == [between("Task", "Look.", "# Look.\nAt all.")]


@each("subtype", sorted(ev.BETWEEN))
def test_words_between_agents_are_collapsed_and_what_follows_has_its_speaker(subtype):
    """Whoever sent them and however, they are one line; the agent's next words have a heading of their own."""
    for kind in (ev.USER_MESSAGE, ev.SYSTEM_MESSAGE):
        step = event(kind, {"text": "Done.\nAll of it.", "subtype": subtype})
        before, fold, heading, after = pieces(says("I wait."), step, says("Thanks."))[1:]
        assert (before, after) == (Prose("I wait."), Prose("Thanks."))
        assert (type(fold), fold.about, type(heading)) == (Delegation, (Inline("text", "· Done."),), AgentHeading)


def test_summary_of_a_compaction_is_collapsed():
    """It follows the note of the compaction, whichever record it comes in."""
    step = event(ev.COMPACTION, {"summary": "We talked."})
    assert pieces(step) == [Note("Context compacted"), between("Summary", "We talked.")]
    assert pieces(event(ev.COMPACTION, {"summary": " "})) == [Note("Context compacted")]


def test_pasted_text_is_folded():
    """What the agent marks as pasted is a fold with its number of lines, at its place in the message."""
    text = "what is this?\na\nb\nc\nAnd why?"
    assert pieces(user(text, pasted=[[14, 19]]))[1:] == [
        TypedWords("what is this?"), Quoted("Pasted: 3 lines", "a\nb\nc"), TypedWords("And why?"),
    ]  # fmt: skip


def test_rest_of_a_long_message_is_folded():
    """Of more than 60 lines, 40 are shown and the rest is a fold."""
    rows = [f"line {number}" for number in range(61)]
    _, typed, rest = pieces(user("\n".join(rows)))
    assert (typed.text.split("\n"), rest.label) == (rows[:40], "21 lines more")
    assert rest.text.split("\n") == rows[40:]
    assert len(pieces(user("\n".join(rows[:60])))) == 2


def test_message_of_nothing_prints_nothing():
    """An empty message without attachments has no heading."""
    assert pieces(user(""), user("  \n")) == []


def test_words_that_nobody_typed_are_no_message():
    """Context in the person's name is not the person's words."""
    assert pieces(user("hidden", subtype="context")) == []


def blobs(*images):
    """Return the content of pictures, as an adapter gives it."""
    return tuple((image["sha256"], image["mediaType"], "QQ==") for image in images)


def test_attachments_are_named_or_linked():
    """An image is named, or linked if it is saved; a path in the project is relative."""
    image = {"type": "image", "mediaType": "image/png", "bytes": 2048, "sha256": "ab" * 32}
    file = {"type": "file", "name": "/home/me/app/logo.png", "bytes": 3}
    assert only(Attachment, pieces(user("look", attachments=[image, file]))) == [
        Attachment("image: image/png, 2.0 KB", "image/png", "ab" * 32, ""),
        Attachment("file: logo.png, 3 bytes", "file", "", ""),
    ]
    options = Options(attachments="save", assets="auth.assets")
    sent = user("", attachments=[image])
    [saved] = only(Attachment, pieces(sent._replace(blobs=blobs(image)), options=options))
    [gone] = only(Attachment, pieces(sent, options=options))
    assert gone.link == "", "katod's own JSONL has no pictures"
    assert saved.link == f"auth.assets/{asset_name(image)}" == "auth.assets/abababababababab.png"


@each("more", [{"mediaType": "image/svg+xml"}, {"bytes": 10_000_001}, {"bytes": None}])
def test_only_pictures_within_the_limits_are_saved(more):
    """One that may run something, one that is too large, and one of unknown size are only named."""
    image = {"type": "image", "mediaType": "image/png", "bytes": 2048, "sha256": "ab" * 32} | more
    options = Options(attachments="save", assets="auth.assets")
    sent = user("", attachments=[image])._replace(blobs=blobs(image))
    assert [piece.link for piece in only(Attachment, pieces(sent, options=options))] == [""]


def test_a_transcript_saves_so_many_pictures_at_most():
    """Once all pictures together would pass the limit, the others are only named; smaller ones may still fit."""
    images = [
        {"type": "image", "mediaType": "image/png", "bytes": 10_000_000, "sha256": f"{number:064x}"}
        for number in range(11)
    ]
    options = Options(attachments="save", assets="auth.assets")
    sent = user("", attachments=images)._replace(blobs=blobs(*images))
    found = only(Attachment, pieces(sent, options=options))
    assert [bool(piece.link) for piece in found] == [True] * 10 + [False]


def test_cleared_conversation_is_a_note():
    """The command that clears a conversation is said as what it does."""
    found = pieces(user("/clear", subtype="slash-command"), user("/model x", subtype="slash-command"))
    assert found == [
        Note("Conversation cleared: a new session begins"),
        Person("You", "2026-02-10 23:36", "/model x", whole=True),
    ]


# -- the agent's turn --------------------------------------------------------------------------------


def test_model_is_shown_where_it_changes():
    """A turn has one heading; the model is in it, shortened, if it is another one than before."""
    found = pieces(
        user("1"), says("2"), says("3"), user("4"), says("5"), says("6", "claude-haiku-4-5-20251001"), says("7", "")
    )
    assert [piece.model for piece in only(AgentHeading, found)] == ["opus-4-6", "", "haiku-4-5"]
    assert [piece.text for piece in only(Prose, found)] == ["2", "3", "5", "6", "7"]


def test_date_is_shown_where_the_day_changes():
    """On a new day the turn gets a heading with the date."""
    found = pieces(user("1", "b"), says("2", at="b"), says("3", at="c"), user("4", "c"))
    assert [piece.stamp for piece in only((Person, AgentHeading), found)] == [
        "2026-02-10 23:52", "23:52", "2026-02-11 09:02", "09:02",
    ]  # fmt: skip


def test_time_is_shown_after_five_minutes():
    """Where more than five minutes pass inside a turn, the time stands before what follows."""
    at = "2026-02-10T22:{}:00Z".format
    found = pieces(*(says(minute, at=at(minute)) for minute in ("00", "05", "11", "12", "09", "40")))
    assert found[1:] == [
        Prose("00"), Prose("05"), PassedTime("23:11"), Prose("11"), Prose("12"), Prose("09"), PassedTime("23:40"), Prose("40"),
    ]  # fmt: skip


def test_event_without_a_time_or_a_model_invents_none():
    """What is not known is not shown."""
    assert pieces(user("hi", ""), says("ho", "", "")) == [
        Person("You", "", "hi", whole=True),
        AgentHeading("Claude", "", ""),
        Prose("ho"),
    ]


def test_turn_ends_with_a_footer():
    """Before the next message, a footer says what the turn did and how long it took since the message."""
    found = pieces(
        user("go"), call(1, "Bash", command="make"), result(1, at="2026-02-10T22:40:30Z"),
        call(2, "Edit", file_path="/home/me/app/a", old_string="x", new_string="y\nz"), result(2, at="2026-02-10T22:40:30Z"),
        user("next", "b"), user("last", "b"),
    )  # fmt: skip
    assert only(Footer, found) == [Footer(f"2 tools · 1 file (+2 {MINUS}1) · 4 min", (("a", 2, 1),))]
    assert isinstance(found[found.index(Person("You", "23:52", "next", whole=True)) - 1], Footer)


@each(
    ("step", "ended"),
    [
        (ends(durationMs=5), True),
        (ends(), False),
        (ends("aborted"), True),
        (Mark("stopped"), True),
        (user("/clear", subtype="slash-command"), True),
        (says("more"), False),
    ],
)
def test_footer_stands_where_a_turn_ends(step, ended):
    """A turn ends where the agent says so, at a stop, and where a conversation is cleared."""
    assert (only(Footer, pieces(call(1, "Bash", command="make"), step)) == [Footer("1 tool")]) is ended


def test_footer_is_all_that_is_left_without_tools():
    """With `tools = none` only the footer says what was done, as it does with tools."""
    steps = (
        call(1, "Bash", command="make"), result(1, "boom", isError=True), todo(4, Test=False), result(4),
        call(2, "Bash", command="git commit -m x"), result(2, "[main 3f2a91c] x"), user("next"),
    )  # fmt: skip
    found = pieces(*steps, options=Options(tools="none"))
    assert [type(piece) for piece in found] == [Footer, Person]
    assert found[0] == only(Footer, pieces(*steps))[0] == Footer("3 tools · 1 commit")


@each("more", [{"isError": True}, {"denied": True}])
def test_edit_that_failed_does_not_count(more):
    """The files and lines of the footer are those that were changed, whatever the results come after."""
    edits = [call(number, "Edit", file_path="a", old_string="x", new_string="y") for number in (1, 2)]
    found = pieces(*edits, result(1, "no", **more), result(2, "ok"), paused=True)
    assert only(Footer, found) == [Footer(f"2 tools · 1 file (+1 {MINUS}1)", (("a", 1, 1),))]


def test_an_edit_counts_in_the_turn_of_its_result():
    """An edit whose result comes after the end of its turn belongs to the next footer; one without a result to none."""
    edits = [call(number, "Edit", file_path="a", old_string="x", new_string="y") for number in (1, 2)]
    found = pieces(*edits, user("next"), result(1, "ok"), paused=True)
    assert only(Footer, found) == [Footer("2 tools"), Footer(f"1 file (+1 {MINUS}1)", (("a", 1, 1),))]


def test_footer_counts_tokens_if_wanted():
    """Tokens are in the footer with `content.usage`; the sum of a session is not added to them."""
    steps = [event(ev.USAGE, {"scope": scope, "input": 1_000, "output": 200}) for scope in ("message", "session")]
    for usage, shown in ((True, "1 tool · 1,200 tokens"), (False, "1 tool")):
        found = pieces(call(1, "Bash", command="make"), *steps, options=Options(usage=usage), paused=True)
        assert only(Footer, found) == [Footer(shown)]


def test_a_stop_says_what_the_recording_has_used():
    """Over all of its turns, with the costs that the agent recorded, if `content.usage`; the next one begins anew."""
    used = [
        event(ev.USAGE, {"scope": "message", "input": 1_000, "output": 200, "costUsd": cost}) for cost in (0.25, 0.5)
    ]
    turns = [says("one"), used[0], user("more"), says("two"), used[1]]
    again = [Mark("started"), says("three"), Mark("stopped")]
    for usage, shown in ((True, "· 2,400 tokens · $0.75"), (False, "")):
        found = pieces(Mark("started"), *turns, Mark("stopped"), *again, options=Options(usage=usage))
        assert [mark.more for mark in only(MarkLine, found)] == ["", shown, "", ""]
    paused = [Mark("started"), *turns, Mark("paused"), Mark("resumed"), used[0], Mark("excluded")]
    found = only(MarkLine, pieces(*paused, options=Options(usage=True)))
    assert [mark.more for mark in found] == ["", "· 2,400 tokens · $0.75", "", "· 3,600 tokens · $1.00"]
    refused = only(MarkLine, pieces(Mark("started"), used[0], Mark("refused", text="no"), options=Options(usage=True)))
    assert [mark.more for mark in refused] == ["", "no"]


# -- tools -------------------------------------------------------------------------------------------


def test_failure_stands_below_its_call():
    """A result that went well prints nothing; a failure stands below the line of its call."""
    found = pieces(
        call(1, "Read", file_path="a"), result(1, "{}"), call(2, "Bash", command="make"),
        result(2, "cc\nno rule\n", isError=True, exitCode=2),
    )  # fmt: skip
    assert lines(found) == ["Read a", "Bash make", "   failed, exit 2: no rule"]


@each("between", [says("words"), call(2, "Read", file_path="a"), ends("aborted"), Mark("edited")])
def test_late_failure_names_its_call(between):
    """If anything was printed since the call, its failure is a line of its own with the call."""
    found = pieces(call(1, "Bash", command="make"), between, result(1, "boom", isError=True))
    assert lines(found)[-1] == "Bash make failed: boom"
    assert only(Outcome, found) == []


def test_failure_of_a_call_before_the_range_names_the_tool():
    """If the call itself was not recorded, its failed result names the tool."""
    known = metadata()
    known.observe(call(1, "Bash", command="make"))
    assert lines(pieces(result(1, "boom", isError=True), known=known)) == ["Bash failed: boom"]


def test_commit_is_told_with_hash_and_subject():
    """A command that committed says what, and the footer counts it."""
    found = pieces(
        call(1, "Bash", command="git commit -m x"), result(1, "[main 3f2a91c] Add sign-in\n 1 file changed"),
        call(2, "Bash", command="cat log"), result(2, "[main 3f2a91c] Add sign-in"), paused=True,
    )  # fmt: skip
    assert lines(found) == ["Bash git commit -m x", "   committed 3f2a91c Add sign-in", "Bash cat log"]
    assert only(Footer, found) == [Footer("2 tools · 1 commit")]


def test_list_of_things_to_do_is_told_once_then_its_changes():
    """The first list is whole; later ones print what changed, nothing if nothing did."""
    found = pieces(
        todo(1, Test=False, Ship=False), result(1, "ok"), todo(2, Test=False, Ship=False), result(2, "ok"),
        todo(3, Test=True, Ship=False, Rest=False),
    )  # fmt: skip
    assert lines(found) == ["TodoWrite 2 items: Test · Ship", "TodoWrite ☑ Test ☐ Rest"]


def test_bookkeeping_prints_and_counts_nothing():
    """The client's own tools are neither lines nor in the footer; nor are their results."""
    steps = (call(1, "ToolSearch", query="x"), result(1, "x", isError=True), call(2, "AskUserQuestion"))
    assert pieces(*steps, paused=True) == []


def test_full_call_is_one_block_with_its_result():
    """With `+tools` a call is a fold with its input and its result, and says how it ended."""
    steps = (
        call(1, "Bash", command="npm test"),
        result(1, "Exit code 1\nFAIL", isError=True, exitCode=1, durationMs=1200),
    )
    [fold] = only(Fold, pieces(*steps, options=full()))
    assert (fold.name, fold.notes) == ("Bash", ("exit 1", "1 line", "1.2 s"))
    assert [(part.language, part.text) for part in fold.parts] == [("bash", "npm test"), ("text", "FAIL")]


@each(
    ("more", "notes", "shown"),
    [
        ({"text": "a\nb"}, ("2 lines",), ["a\nb"]),
        ({"text": ""}, (), []),
        ({"text": "x", "isError": True}, ("failed", "1 line"), ["x"]),
        ({"text": "x", "durationMs": 999}, ("1 line",), ["x"]),
        ({"text": "x", "durationMs": 125_000}, ("1 line", "2 min"), ["x"]),
        ({"text": "x", "status": "interrupted"}, ("interrupted", "1 line"), ["x"]),
        ({"text": "Async agent launched", "status": "launched"}, ("in the background",), []),
        ({"text": "… the user said: use pnpm", "denied": True, "isError": True}, ("declined", "1 line"), ["use pnpm"]),
    ],
)
def test_full_result_says_how_it_ended(more, notes, shown):
    """The title has the exit code or what else went wrong, the number of lines and a duration worth mentioning."""
    [fold] = only(Fold, pieces(call(1, "AgentHeading", prompt="x"), result(1, **more), options=full()))
    assert (fold.notes, [part.text for part in fold.parts[1:]]) == (notes, shown)


def test_full_calls_are_in_call_order():
    """Results in any order do not change the order of the calls; a message of the agent prints what is held."""
    steps = (
        call(1, "Read", file_path="a"),
        call(2, "Read", file_path="b"),
        result(2, "B"),
        says("so", ""),
        result(1, "A"),
    )
    found = pieces(*steps, options=full())
    assert [(type(piece).__name__, len(getattr(piece, "parts", ()))) for piece in found[1:]] == [
        ("Fold", 1), ("Fold", 2), ("Prose", 0), ("Fold", 1),
    ]  # fmt: skip
    assert [span.text for span in found[-1].about] == ["a", "result"]


def test_held_calls_are_printed_before_a_footer_and_a_mark():
    """What is held belongs to the turn: it stands before the end of it."""
    found = pieces(call(1, "Read", file_path="a"), Mark("stopped"), options=full())
    assert [type(piece) for piece in found] == [AgentHeading, Fold, Footer, MarkLine]


def test_images_of_a_result_follow_its_block():
    """An image that a tool returned stands below the block of its call."""
    image = {"type": "image", "mediaType": "image/png", "bytes": 9}
    steps = (call(1, "Read", file_path="a"), call(2, "Read", file_path="b"), result(1, "", attachments=[image]))
    assert [type(piece) for piece in pieces(*steps, options=full())] == [AgentHeading, Fold, Fold, Attachment]


def test_long_result_is_shortened_as_configured():
    """A result has at most `content.max_result` lines; 0 is all."""
    text = "\n".join(map(str, range(1_000)))
    for most, lines_shown in ((3, 4), (200, 201), (0, 1_000)):
        options = Options(tools="full", max_result=most)
        [fold] = only(Fold, pieces(call(1, "Bash", command="x"), result(1, text), options=options))
        assert len(fold.parts[1].text.split("\n")) == lines_shown
        assert fold.notes == ("1,000 lines",)


def test_report_of_a_sub_agent_is_a_fold():
    """It is shown with `content.subagent_reports` or `+tools`; a link if recorded. One that came as a message always."""
    step = event(ev.AGENT_END, {"subagent": "a1", "status": "completed", "result": "Looks good."})
    assert pieces(step) == []
    for options in (Options(subagent_reports=True), Options(tools="full")):
        assert pieces(step, options=options) == [between("Sub-agent", "Looks good.", notes=("completed",))]
    told = step._replace(payload=step.payload | {"speaker": "Review"})
    for tools in ("summary", "none"):
        found = pieces(told, options=Options(tools=tools))
        assert found == [between("Review", "Looks good.", notes=("completed",))]
    recorded = Options(subagents=True, subagents_folder="x")
    for name in ("a1", "agent-a1"):
        ended = step._replace(payload=step.payload | {"subagent": name})
        assert pieces(ended, options=recorded) == [Link("sub-agent", "transcript", "x/agent-a1.md")]
    assert pieces(step, options=Options(subagents=True)) == []  # an export
    assert pieces(step, options=Options(tools="none", subagents=True)) == []


# -- thinking, questions, notes ----------------------------------------------------------------------


def test_thinking_prints_only_where_it_is_wanted():
    """Thinking is off by default, and empty thinking is nothing."""
    assert pieces(thinks("Hm.")) == []
    assert only(Thinking, pieces(thinks("Hm."), thinks(""), options=Options(thinking=True))) == [Thinking("Hm.")]


def test_switches_hold_for_their_range():
    """The options of a command apply from its mark to the next one."""
    on, off = Mark("started", switches=(("thinking", True), ("tools", True))), Mark("started")
    read = [call(number, "Read", file_path="a") for number in (1, 2)]
    found = pieces(on, thinks("one"), read[0], off, thinks("two"), read[1])
    assert only(Thinking, found) == [Thinking("one")]
    assert [type(piece) for piece in only((Fold, ToolLine), found)] == [Fold, ToolLine]


def test_several_questions_are_told_apart():
    """If more than one question is open, an answer names its question; one question needs no name."""
    steps = (asks("A?", key="Store"), asks("B?", ("80", ""), key="Port", number=1))
    found = pieces(*steps, answers("80", number=1), answers("x", freeText="my own"))
    assert only((AskedQuestion, ChosenAnswer), found) == [
        AskedQuestion("Store", "A?", ()), AskedQuestion("Port", "B?", (("80", ""),)), ChosenAnswer("Port", "80"), ChosenAnswer("Store", "x · my own"),
    ]  # fmt: skip
    assert only(ChosenAnswer, pieces(asks("A?"), answers("yes"))) == [ChosenAnswer("", "yes")]


@each(
    ("kind", "payload", "note"),
    [
        (ev.TURN_END, {"reason": "aborted"}, "Interrupted"),
        (ev.TURN_END, {"reason": "done"}, None),
        (ev.ERROR, {"message": "overloaded *now*"}, "Error: overloaded *now*"),
        (ev.ERROR, {"message": "overloaded", "retry": {"attempt": 1}}, None),
        (ev.COMPACTION, {}, "Context compacted"),
        (ev.COMPACTION, {"tokensBefore": 155_000}, "Context compacted from 155,000 tokens"),
        (ev.COMPACTION, {"tokensBefore": 9_000, "tokensAfter": 10}, "Context compacted: 9,000 → 10 tokens"),
        (ev.CONFIG_CHANGE, {"what": "model", "before": "a", "after": "b"}, "Model: a → b"),
        (ev.CONFIG_CHANGE, {"what": "title", "before": "a", "after": "b"}, "Title: b"),
        (ev.CONFIG_CHANGE, {"what": "permissionMode", "before": "a", "after": "b"}, None),
        (ev.SYSTEM_MESSAGE, {"text": "No.", "subtype": "api_refusal"}, "No."),
        (ev.SYSTEM_MESSAGE, {"text": "Conversation rewound", "subtype": "rollback"}, "Conversation rewound"),
        (ev.SYSTEM_MESSAGE, {"text": "hook ran"}, None),
        (ev.PROVIDER_RAW, {"rawType": "x", "raw": {}}, None),
        (ev.PROVIDER_INFO, {"text": "x"}, None),
        (ev.USAGE, {"scope": "message", "input": 1, "output": 1}, None),
        (ev.USER_COMMAND, {"command": "start", "options": [], "line": "::start"}, None),
        (ev.SESSION_START, {"cwd": "/x"}, None),
        (ev.TURN_START, {}, None),
    ],
)
def test_what_happened_is_one_line_and_bookkeeping_is_nothing(kind, payload, note):
    """Interruptions, errors, compactions and changes are one line each; bookkeeping is not printed."""
    assert pieces(event(kind, payload)) == ([Note(note)] if note else [])


def test_what_a_persons_own_command_printed_is_folded():
    """Without it, the next prompt may be about something that stands nowhere."""
    printed = "<bash-stdout>2 problems\n" + SECRET + "</bash-stdout><bash-stderr></bash-stderr>"
    shown = pieces(event(ev.SYSTEM_MESSAGE, {"text": printed, "subtype": "shell-output"}))
    assert shown == [Quoted("Output: 2 lines", "2 problems\n[REDACTED:github-token]")]
    empty = "<bash-stdout></bash-stdout><bash-stderr></bash-stderr>"
    assert pieces(event(ev.SYSTEM_MESSAGE, {"text": empty, "subtype": "shell-output"})) == []


def test_a_command_that_is_only_looked_after_gives_no_line():
    """Polls of a running command without input say nothing, but what came of it is told."""
    assert lines(pieces(call(1, "write_stdin", chars=""))) == []
    found = pieces(call(1, "write_stdin", chars=""), result(1, "no", isError=True, exitCode=1))
    assert lines(found) == ["write_stdin failed, exit 1: no"]


def test_what_a_sub_agent_says_is_not_part_of_its_parents_transcript():
    """Events of a sub-agent give nothing, whatever their kind."""
    for kind, payload in ((ev.ASSISTANT_MESSAGE, {"text": "x"}), (ev.TURN_END, {"reason": "aborted"})):
        assert pieces(event(kind, payload, subagent="a1")) == []


def test_secrets_are_replaced_in_every_piece_and_in_the_state():
    """No content has a secret, unless redaction is off; nor has what is remembered for later."""
    file = {"type": "file", "name": SECRET}
    cut = "x" * 70 + SECRET  # a list item is cut in the middle of it
    steps = [
        user(SECRET, attachments=[file]), user(f"a\n{SECRET}", pasted=[[2, 10]]), says(SECRET), thinks(SECRET),
        call(1, "Bash", command=SECRET, description=SECRET), result(1, SECRET, isError=True), call(2, "Bash", command=SECRET),
        call(3, "Write", file_path=SECRET, content=SECRET), todo(4, **{cut: False}), todo(5, **{cut: True}),
        call(6, "apply_patch", patch=f"*** Update File: {SECRET}\n+{SECRET}"), result(6, f"… the user said: {SECRET}", denied=True),
        asks(SECRET, (SECRET, SECRET), key=SECRET), answers(SECRET, freeText=SECRET), event(ev.ERROR, {"message": SECRET}),
        event(ev.CONFIG_CHANGE, {"what": "title", "after": SECRET}), event(ev.AGENT_END, {"subagent": "a", "result": SECRET}),
        event(ev.SYSTEM_MESSAGE, {"text": SECRET, "subtype": "rollback"}),
        call(7, "Bash", command="git commit"), result(7, f"[main 3f2a91c] {SECRET}"),
    ]  # fmt: skip
    for tools in ("summary", "full", "none"):
        shown, known = Transcript(Options(tools=tools, thinking=True)), metadata()
        for given_pieces in play(shown, known, steps):
            assert SECRET[:20] not in repr(given_pieces)
            assert SECRET[:20] not in json.dumps(shown.state())
    assert SECRET in repr(pieces(user(SECRET), options=Options(redact=False)))


# -- the state ---------------------------------------------------------------------------------------

STEPS = st.sampled_from(
    [
        user("one"), user("two", "b"), user("three", "c"), says("four"), says("five", "haiku"), thinks("six"), says("x", at="b"),
        call(1, "Bash", command="git commit"), result(1, "boom", isError=True), call(2, "Read", file_path="a"), result(2),
        result(1, "[main 3f2a91c] Add"), call(3, "Edit", file_path="a", old_string="x", new_string="y"), result(3, at="b"),
        todo(4, Test=False), todo(5, Test=True), result(5), asks("A?", ("x", "")), asks("B?", number=1, key="Port"),
        answers("x"), answers("80", number=1), ends("aborted"), ends(durationMs=1, at="b"),
        event(ev.USAGE, {"scope": "message", "output": 7}), event(ev.AGENT_END, {"subagent": "a", "result": "r"}),
        Mark("started", TIMES["a"], (("thinking", True), ("tools", True))), Mark("started", TIMES["b"], (("tools", False),)),
        Mark("stopped", TIMES["c"]), Mark("edited"),
    ]
)  # fmt: skip


@given(st.lists(STEPS, max_size=16), st.sampled_from(["summary", "full"]))
def test_transcript_goes_on_from_its_state_at_every_record(steps, tools):
    """If the state is stored as JSON and read again after every event, the content is the same: calls, footers, all."""
    options = Options(tools=tools, usage=True)
    whole = pieces(*steps, options=options, paused=True)
    known, state, found = metadata(), None, []
    for step in steps:
        shown = Transcript(options, state)
        for given_pieces in play(shown, known, [step]):
            found += given_pieces
        state = json.loads(json.dumps(shown.state()))
    assert [*found, *Transcript(options, state).pause()] == whole


@given(st.lists(STEPS, max_size=16))
def test_nothing_is_lost_or_told_twice_in_full(steps):
    """With `+tools`, every call and every result of a call is in exactly one block, whatever comes between."""
    numbered, calls, results = [], 0, 0
    for step in steps:
        kind = "mark" if isinstance(step, Mark) else step.kind
        if kind == ev.TOOL_CALL:
            calls += 1
            numbered.append(call(calls, "Read", file_path=f"file {calls}."))
        elif kind == ev.TOOL_RESULT:
            results += 1
            numbered.append(result(results, f"output {results}."))
        elif kind != "mark":
            numbered.append(step)
    text = repr(pieces(*numbered, options=full(), paused=True))
    assert [text.count(f'"file_path": "file {number}."') for number in range(1, calls + 1)] == [1] * calls
    assert [text.count(f"output {number}.") for number in range(1, results + 1)] == [1] * results
