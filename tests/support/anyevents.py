"""Any events that an adapter may give: every kind, with any of its optional fields, and any text."""

from typing import Any, Final

from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from tests.examples import texts

_NUMBERS: Final = st.integers(0, 2**53)
_TIMES: Final = st.sampled_from(
    [
        "",
        "2026-02-10T22:36:18.000Z",
        "2026-02-10T22:36:19+01:00",
        "2026-02-10 22:36:18",
        "yesterday",
        "2026-13-40T99:00:00Z",
    ]
)
_NAMES: Final = st.sampled_from(["a", "b", "c", "d"])
_COUNTS: Final = st.dictionaries(texts(max_size=5), st.integers(1, 9), max_size=2)
_PATHS: Final = st.sampled_from(["/home/me/app/a.py", "/home/me/other/b.py", "c.py", ""])
ANY_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | texts(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_WORDS: Final = texts(max_size=40)
_FILES: Final = st.fixed_dictionaries(
    {"path": _PATHS, "change": st.sampled_from(["add", "update", "delete"])},
    optional={
        "added": st.integers(0, 9), "removed": st.integers(0, 9),
        "ranges": st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)).map(sorted), max_size=3),
    },
)  # fmt: skip
_ATTACHMENT: Final = st.fixed_dictionaries({"type": st.just("image")}, optional={"mediaType": _WORDS, "name": _WORDS})


def _payload(required: dict[str, Any], **optional: Any) -> Any:
    return st.fixed_dictionaries(required, optional=optional)


_KINDS: Final = {
    ev.USER_MESSAGE: _payload({"text": _WORDS}, subtype=_NAMES, attachments=st.lists(_ATTACHMENT, max_size=2)),
    ev.USER_COMMAND: _payload({"command": st.just("start"), "options": st.just(["+tools"]), "line": _WORDS}),
    ev.DECISION_RESPONSE: _payload({"decisionId": _NAMES, "selections": st.lists(_WORDS, max_size=2)}, freeText=_WORDS),
    ev.ASSISTANT_MESSAGE: _payload({"text": _WORDS}, phase=st.just("final"), stopReason=_WORDS),
    ev.ASSISTANT_THINKING: _payload({"text": _WORDS}, subject=_WORDS, encrypted=_WORDS),
    ev.TOOL_CALL: _payload(
        {"toolCallId": _NAMES, "name": _WORDS, "family": st.just("other"), "input": ANY_VALUES},
        server=_WORDS, description=_WORDS,
    ),
    ev.TOOL_RESULT: _payload(
        {"toolCallId": _NAMES, "text": _WORDS},
        isError=st.just(True), status=_WORDS, exitCode=st.integers(-9, 255), durationMs=_NUMBERS, denied=st.just(True),
        structured=st.fixed_dictionaries({"files": st.lists(_FILES, max_size=2)}),
    ),
    ev.DECISION_PROMPT: _payload(
        {"decisionId": _NAMES, "decisionKey": _WORDS, "prompt": _WORDS, "options": st.just([{"label": "yes"}])}
    ),
    ev.SYSTEM_MESSAGE: _payload({"text": _WORDS}, subtype=_WORDS),
    ev.PROVIDER_INFO: _payload({"text": _WORDS}, data=st.dictionaries(_WORDS, ANY_VALUES, max_size=3)),
    ev.PROVIDER_RAW: _payload({"rawType": _WORDS, "raw": ANY_VALUES}),
    ev.SESSION_START: _payload(
        {}, cwd=_PATHS, branch=_WORDS, commit=_WORDS, cliVersion=_WORDS, title=_WORDS, repository=_WORDS,
        modelProvider=_WORDS, permissionMode=_WORDS, sandbox=_WORDS, effort=_WORDS,
    ),
    ev.SESSION_END: _payload({}, reason=_WORDS),
    ev.TURN_START: _payload({}, number=_NUMBERS),
    ev.TURN_END: _payload({"reason": st.sampled_from(["done", "aborted", "error"])}, durationMs=_NUMBERS),
    ev.USAGE: _payload(
        {"scope": st.sampled_from(["message", "turn", "session"]), "output": _NUMBERS},
        input=_NUMBERS, cacheRead=_NUMBERS, cacheWrite=_NUMBERS, reasoning=_NUMBERS, total=_NUMBERS,
        costUsd=st.floats(0, 99), contextLimit=_NUMBERS,
    ),
    ev.COMPACTION: _payload({}, trigger=_WORDS, tokensBefore=_NUMBERS, tokensAfter=_NUMBERS, summary=_WORDS),
    ev.CONFIG_CHANGE: _payload({"what": st.sampled_from(["model", "effort", "cwd"]), "after": _WORDS}, before=_WORDS),
    ev.ERROR: _payload({"message": _WORDS}, code=_WORDS, httpStatus=_NUMBERS, retry=st.just({"attempt": 1})),
    ev.AGENT_START: _payload({"subagent": _NAMES}, task=_WORDS, model=_WORDS),
    ev.AGENT_END: _payload({"subagent": _NAMES, "status": _WORDS}, result=_WORDS),
    ev.RECEIPT: _payload(
        {
            "records": _NUMBERS, "told": _NUMBERS, "repeated": _NUMBERS, "leftOut": _COUNTS, "notUnderstood": _COUNTS,
            "gaps": _COUNTS,
        }
    ),
}  # fmt: skip
assert set(_KINDS) == set(ev.KINDS)


@st.composite
def conversations(draw: st.DrawFn) -> list[Event]:
    """Return some events of one session, each with an id of its own."""
    kinds = draw(st.lists(st.sampled_from(sorted(_KINDS)), min_size=1, max_size=12))
    return [_event(draw, number, kind) for number, kind in enumerate(kinds)]


def _event(draw: st.DrawFn, number: int, kind: str) -> Event:
    native = draw(st.sampled_from(["", f"n{number}", "n0"]))
    source = {"providerEventType": kind, "offset": number * 100}
    given = {"providerEventId": native, "messageId": draw(_NAMES), "parentId": draw(st.sampled_from(["", "n0", "n1"]))}
    time = draw(_TIMES)
    return Event(
        id=f"claude:s:{native or number}:{number}", kind=kind,
        session=SessionRef("claude", "s", draw(st.sampled_from(["", "", "sub"])), ""),
        payload=draw(_KINDS[kind]), source=source | {name: value for name, value in given.items() if value},
        time=time, time_source=draw(st.sampled_from(["recorded", "derived"])) if time else "",
        model=draw(st.sampled_from(["", "claude-opus-4-6", "gpt-5.5"])),
    )  # fmt: skip
