"""Pages of a conversation, as clients of CodingBridge ask for them. Pure.

A page is found in two passes over all messages without what they say. Then only those on it are read.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from katod.formats.stream import bridge
from katod.serve.protocol.outline import MessageCursor, Outlined, Stub

API: Final = "2.0"
_LIMIT, _MOST = 25, 100
_PAUSE: Final = 256  # messages between two steps
_WORDS: Final = {"true": True, "1": True, "false": False, "0": False}
Fields = dict[str, Any]


class WrongQuery(Exception):
    """A parameter has a value that it cannot have; the text says which, and what it may be."""


class PageQuery(NamedTuple):
    """The messages that a page is to have. `before` and `after` are folded ids."""

    before: str
    after: str
    limit: int
    offset: int
    types: tuple[str, ...]
    order: Literal["asc", "desc"]
    denormalize: bool
    raw: bool


class _MessageSpan(NamedTuple):
    """From which message to which a page goes, of how many, in the order of the conversation."""

    begin: int
    end: int
    total: int


def asked(query: Mapping[str, str]) -> PageQuery:
    """Return the page that the parameters of a request ask for. Raises WrongQuery."""
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise WrongQuery("`order` is asc or desc")
    before, after = (bridge.folded(query.get(name, "")) for name in ("before", "after"))
    if (before and after) or ((before or after) and query.get("offset")):
        raise WrongQuery("only one of `before`, `after` and `offset` can be given")
    return PageQuery(
        before, after, number(query, "limit", _LIMIT, _MOST), number(query, "offset", 0),
        tuple(filter(None, query.get("types", "").split(","))), "asc" if order == "asc" else "desc",
        switch(query, "denormalize", default=True), switch(query, "includeRawContent", default=False),
    )  # fmt: skip


def number(query: Mapping[str, str], name: str, default: int, maximum: int | None = None) -> int:
    """Return a parameter that is a number: at most `maximum`, and at least 1 if there is a maximum."""
    text = query.get(name, "") or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or (maximum is not None and int(text) < 1):
        raise WrongQuery(f"`{name}` is a number, {0 if maximum is None else 1} or more")
    return int(text) if maximum is None else min(maximum, int(text))


def switch(query: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Return a parameter that is true or false."""
    if not (text := query.get(name, "").lower()):
        return default
    if text not in _WORDS:
        raise WrongQuery(f"`{name}` is true or false")
    return _WORDS[text]


def page(outlined: Outlined, want: PageQuery) -> Iterator[Fields | None]:
    """Yield the body of the answer at last, and before it None now and then. Raises Stale."""
    found: _MessageSpan | None = None
    for found in _range(outlined.stubs(), want):
        if found is None:
            yield None
    if found is None:
        lost = {"code": "CURSOR_NOT_FOUND", "cursorId": want.before or want.after}
        yield _body([], _MessageSpan(0, 0, 0), want) | {"error": lost}
        return
    numbers: list[int] = []
    results: dict[int, int] = {}
    yield from _numbers(outlined.stubs(), want, found, numbers, results)
    sent: dict[int, Fields] = {}
    for one in outlined.fetch(sorted({*numbers, *results.values()})):
        if one is None:
            yield None
        else:
            sent[one[0]] = one[1]
    for call, result in results.items():
        sent[call]["message"]["result"] = _result_of(sent[result]["message"])
    yield _body([sent[number] for number in numbers], found, want)


def _range(stubs: Iterable[Stub], want: PageQuery) -> Iterator[_MessageSpan | None]:
    """Yield None now and then, and at last the range of the page, or None if its cursor is not found."""
    count, at, given = 0, None, want.before or want.after
    cursor = MessageCursor.of(given)
    for step, (stub, call) in enumerate(_folded(stubs, want)):
        is_kept = call is None and _is_wanted(stub, want)
        if given and stub.is_named(cursor):
            at = count + (is_kept and bool(want.after))
        count += is_kept
        if not step % _PAUSE:
            yield None
    yield None if given and at is None else _from(count, at, want)


def _from(count: int, at: int | None, want: PageQuery) -> _MessageSpan:
    if at is not None and want.before:
        return _MessageSpan(max(0, at - want.limit), at, count)
    if at is not None:
        return _MessageSpan(at, min(count, at + want.limit), count)
    if want.order == "asc":
        return _MessageSpan(min(count, want.offset), min(count, want.offset + want.limit), count)
    end = max(0, count - want.offset)
    return _MessageSpan(max(0, end - want.limit), end, count)


def _numbers(
    stubs: Iterable[Stub], want: PageQuery, wanted: _MessageSpan, numbers: list[int], results: dict[int, int]
) -> Iterator[None]:
    """Collect which messages are in a range, and the results of the calls in it, which may come after it."""
    count = 0
    for number, (stub, call) in enumerate(_folded(stubs, want)):
        if call is not None:
            results[call] = number
        elif _is_wanted(stub, want):
            if wanted.begin <= count < wanted.end:
                numbers.append(number)
            count += 1
        if not number % _PAUSE:
            yield None
    for call in results.keys() - set(numbers):
        del results[call]


def _folded(stubs: Iterable[Stub], want: PageQuery) -> Iterator[tuple[Stub, int | None]]:
    """Yield each message, and for one that becomes a part of its call the number of that."""
    calls: dict[bytes, int] = {}
    for number, stub in enumerate(stubs):
        call = None
        if want.denormalize and stub.kind == "tool_use":
            calls[stub.call] = number
        elif want.denormalize and stub.kind == "tool_result":
            call = calls.pop(stub.call, None)
        yield stub, call


def _is_wanted(stub: Stub, want: PageQuery) -> bool:
    return not want.types or stub.kind in want.types


def _result_of(message: Fields) -> Fields:
    return {name: message[name] for name in ("output", "success", "isError") if name in message}


def _body(rows: list[Fields], found: _MessageSpan, want: PageQuery) -> Fields:
    shown = rows if want.order == "asc" else rows[::-1]
    is_upwards = bool(want.after) or (want.order == "asc" and not want.before)
    has_more = found.end < found.total if is_upwards else found.begin > 0
    offset = found.begin if want.order == "asc" else found.total - found.end
    paging: Fields = {"total": found.total, "limit": want.limit, "offset": offset, "hasMore": has_more}
    if rows:
        last, first = (rows[-1]["id"], rows[0]["id"]) if is_upwards else (rows[0]["id"], rows[-1]["id"])
        paging |= {"nextCursor": last} if has_more else {}
        paging |= {"prevCursor": first}
    return {
        "apiVersion": API,
        "messages": [stored(row, raw=want.raw) for row in shown],
        "pagination": paging,
        "filters": {"types": list(want.types), "order": want.order, "denormalize": want.denormalize},
    }


def stored(sent: Fields, *, raw: bool) -> Fields:
    """Return a message as a page has it."""
    row = {name: sent[name] for name in ("id", "timestamp", "message")}
    return row | ({"rawContent": blocks} if raw and (blocks := _blocks(sent["message"])) else {})


def _blocks(message: Fields) -> list[Fields]:
    """Return a message as blocks of content; none if it is not of the conversation."""
    kind = message["type"]
    if kind in ("user", "assistant", "system"):
        return [{"type": "text", "text": message["content"]}]
    if kind == "thinking":
        return [{"type": "thinking", "thinking": message["content"]}]
    if kind == "tool_use":
        call = {"type": "tool_use", "id": message["id"], "name": message["name"], "input": message["input"]}
        return [call, *([_result(message["id"], message["result"])] if "result" in message else [])]
    return [_result(message["id"], message)] if kind == "tool_result" else []


def _result(call: str, message: Fields) -> Fields:
    block = {"type": "tool_result", "tool_use_id": call, "content": message["output"]}
    return block | ({"is_error": True} if message.get("isError") else {})
