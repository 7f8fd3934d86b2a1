"""Lines about a session outside its conversation: changes of settings, errors, compactions. Pure."""

import re
from typing import Final

from katod import events as ev
from katod.agents.fields import dict_of
from katod.formats.matrix.lines import Draft, Wait
from katod.formats.matrix.places import directory
from katod.formats.matrix.session import EventContext, Session, Turns
from katod.formats.matrix.values import Content, integer

_CONFIGURED: Final = {
    "model": "model", "effort": "effort", "modelProvider": "model_provider", "cwd": "working_directory",
}  # fmt: skip
_PERMITTED: Final = {"permissionMode": "mode", "sandbox": "sandbox"}
_BY_STATUS: Final = {429: "rate_limit", 401: "authentication_error", 400: "invalid_request"}
_BY_CODE: Final = {
    "rate_limit": "rate_limit", "rate_limit_error": "rate_limit", "rate_limit_exceeded": "rate_limit",
    "authentication_failed": "authentication_error", "authentication_error": "authentication_error",
    "invalid_request": "invalid_request", "invalid_request_error": "invalid_request", "timeout": "timeout",
    "server_error": "api_error", "api_error": "api_error", "overloaded_error": "api_error",
}  # fmt: skip
_DISCONNECTED: Final = re.compile(
    r"\b(?:connection error|ECONNRESET|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|fetch failed)\b", re.IGNORECASE
)
_TIMED_OUT: Final = re.compile(r"\b(?:ETIMEDOUT|request timed out)\b", re.IGNORECASE)
# A status in a message, where it can be nothing else: in front, or behind what introduces one.
_STATUS: Final = re.compile(
    r"(?:\A|\b(?:http|status|status code|api error)\b[:=/ ]{1,3})([45]\d\d)\b|\"code\": ?([45]\d\d)\b", re.IGNORECASE
)
_LONGEST_START: Final = 2_000  # characters of a message in which a status is looked for
_OVERFLOW: Final = re.compile(r"prompt is too long(?:: (\d{1,12}) tokens > (\d{1,12}) maximum)?", re.IGNORECASE)
_REFUSALS: Final = frozenset({"api_refusal", "model_refusal_fallback"})
REFUSAL: Final = "refusal"


def changed(context: EventContext, session: Session) -> list[Draft]:
    """Return a changed setting; titles are none."""
    what, before, after = context.text("what"), context.text("before"), context.text("after")
    if not context.is_own:
        return []
    if what == "branch":
        return _switched(context, session, before, after)
    if what == "model":
        session.settings.announce_model()
    change = {"before": before, "after": after} if before else {"after": after}
    if what in _PERMITTED:
        return [Draft("permission.change", context.ids() | {"changes": {_PERMITTED[what]: change}})]
    if what in _CONFIGURED:
        if what == "cwd":
            change = {name: _directory(context, path) for name, path in change.items()}
        return [Draft("config.change", context.ids() | {"changes": {_CONFIGURED[what]: change}})]
    return []


def _directory(context: EventContext, path: str) -> str:
    """Return a directory of the session, relative to the one in which it began."""
    start = context.metadata.start.cwd
    return directory(path, context.options, start if path != start else "")


def _switched(context: EventContext, session: Session, before: str, after: str) -> list[Draft]:
    if not session.settings.switch(after):
        return []
    about = {"action": "switched", "branch_name": after} | ({"from_branch": before} if before else {})
    return [Draft("git.branch", context.ids() | about)]


def remodelled(context: EventContext, session: Session) -> list[Draft]:
    """Return that another model answers than before, if the agent did not say that it changes."""
    before, after = session.settings.model, context.event.model
    if not after or after == before or not context.is_own or not session.settings.use_model(after):
        return []
    changes = {"model": {"before": before, "after": after}}
    return [Draft("config.change", context.ids() | {"changes": changes}, "model", derived=True)]


def failed(context: EventContext) -> list[Draft]:
    """Return an error, and that the context is full if this is the error."""
    message, code, status = context.text("message"), context.text("code"), integer(context.payload.get("httpStatus"))
    content = context.ids() | {"error_message": message} | ({"error_code": code} if code else {})
    if status is None and (said := _STATUS.search(message[:_LONGEST_START])):
        status = int(said[1] or said[2])
        content["katod_derived_fields"] = ["http_status"]
    if kind := _kind(message, code, status):
        content["error_type"] = kind
    if status is not None:
        content["http_status"] = status
    drafts = [Draft("error", content | _retry(dict_of(context.payload.get("retry"))), at=("error_message",))]
    if full := _OVERFLOW.search(message):
        sizes = {"token_count": full[1], "token_limit": full[2]}
        about = {name: int(size) for name, size in sizes.items() if size}
        drafts.append(Draft("context.overflow", context.ids() | about, "overflow"))
    return drafts


def _kind(message: str, code: str, status: int | None) -> str:
    """Return the type of an error as far as it is known."""
    if status is not None:
        return _BY_STATUS.get(status, "api_error")
    if code.lower() in _BY_CODE:
        return _BY_CODE[code.lower()]
    return "network_failure" if _DISCONNECTED.search(message) else "timeout" if _TIMED_OUT.search(message) else ""


def _retry(retry: Content) -> Content:
    attempt, most = integer(retry.get("attempt")), integer(retry.get("max"))
    after = retry.get("afterMs")
    content: Content = {"retryable": attempt < most} if attempt is not None and most is not None else {}
    if isinstance(after, int | float) and not isinstance(after, bool) and 0 <= after < 10**12:
        content["retry_after_ms"] = round(after)
    return content


def is_refusal(context: EventContext) -> bool:
    """Return whether an event says that a request was refused."""
    return context.event.kind == ev.SYSTEM_MESSAGE and context.text("subtype") in _REFUSALS


def blocked(context: EventContext, turns: Turns) -> list[Draft]:
    """Return that the request was refused, once for a turn."""
    if not turns.refuse():
        return []
    category = context.text("category")
    content = context.ids(turns) | {"block_reason": "policy_violation"} | ({"category": category} if category else {})
    return [Draft("safety.blocked", content, "refusal", turns.prompt)]


def summarized(context: EventContext, session: Session, turns: Turns) -> Draft:
    """Return a compaction; the turns since the last one were counted by katod."""
    sizes = (("tokens_before", "tokensBefore"), ("tokens_after", "tokensAfter"))
    known = {name: size for name, key in sizes if (size := integer(context.payload.get(key))) is not None}
    content = context.ids() | known
    content |= {"katod_trigger": context.text("trigger")} if context.text("trigger") else {}
    if session.whole and context.is_own:
        content |= {"turns_summarized": turns.summarize(), "katod_derived_fields": ["turns_summarized"]}
    summary = context.text("summary")
    content |= {"summary_text": summary} if summary else {}
    waits: tuple[Wait, str] | None = None if summary else ("summary", "")
    return Draft("context.summarized", content, at=("summary_text",), waits=waits)
