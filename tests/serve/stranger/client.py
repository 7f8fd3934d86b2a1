"""Client for the CodingBridge (CLI Bridge) protocol, written from its specification alone.

`Client.stream()` follows one session for ever: first what REST has recorded, then what the WebSocket sends, each
message once and in order, over as many connections as that takes. Whatever the server sends that its schema does
not allow goes to `Client.violations`; what the schema allows but the protocol does not goes to `Client.anomalies`.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, Literal, NamedTuple, Self
from urllib.parse import quote
from uuid import UUID

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus, WebSocketException

from tests.serve.stranger.link import Backoff, Link, Timing
from tests.serve.stranger.schema import Schema

Json = dict[str, Any]

SESSIONS_PATH: Final = "/projects/{encodedPath}/sessions"
SESSION_PATH: Final = SESSIONS_PATH + "/{sessionId}"

_SHOWN: Final = 300  # characters
_OK: Final = 200
_NOT_REFUSALS: Final = frozenset({401, 403, 408, 425, 429})


class Item(NamedTuple):
    """One message of the session."""

    id: str
    timestamp: str
    message: Json


@dataclass(frozen=True, slots=True)
class Finding:
    """Something the server sent that it should not have sent."""

    where: str
    problem: str
    frame: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """Behaviours of the protocol's app that a server has to cope with.

    `upper_case` sends UUID cursors in upper case.  `tool_cursor` resumes from the id of the running tool instead of
    a message id.  `resume` says how a later socket opens: with `reconnect`, with `start` (what was missed then comes
    through REST), or with the two in turn.
    """

    upper_case: bool = False
    tool_cursor: bool = False
    resume: Literal["reconnect", "start", "alternate"] = "reconnect"


class ApiError(Exception):
    """A REST call that did not give a usable 200 body."""

    def __init__(self, status: int, code: str, retry_after: float) -> None:
        """Keep the HTTP status, the `code` of the body (or an empty string) and the seconds to wait."""
        super().__init__(f"HTTP {status} {code}".rstrip())
        self.status = status
        self.code = code
        self.retry_after = retry_after


class _DroppedError(Exception):
    """The current connection is of no more use."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


# --- state ------------------------------------------------------------------------------------------------------


class _Phase(Enum):
    STARTED = auto()  # `start` is sent.
    CONNECTED = auto()  # `connected` has come, `history` has not.
    REPLAYING = auto()  # `reconnect` is sent.
    LIVE = auto()


@dataclass(slots=True)
class _Visit:
    """What is known about the current socket."""

    phase: _Phase
    by_tool: bool = False
    exact_cursor: bool = True
    replayed: int = 0
    ids: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Position:
    """How far `stream` has come in the session, whatever the socket."""

    seen: dict[str, int] = field(default_factory=dict)
    cursor: str | None = None
    newest: str | None = None
    open_tool: str | None = None
    agent: str | None = None
    rewind: bool = False
    visits: int = 0


_SILENCE: Final[Json] = {"type": ""}  # Stands for the `history` that a server did not send.


# --- client -----------------------------------------------------------------------------------------------------


class Client:
    """Follows one session of one project, and reads the rest of the API."""

    def __init__(
        self,
        base: str,
        token: str,
        project: str,
        session: str,
        *,
        habits: Habits | None = None,
        timing: Timing | None = None,
        page_size: int = 100,
        schema: Schema | None = None,
    ) -> None:
        """Prepare a client for the server at `base`, such as `http://127.0.0.1:3100`; nothing is sent yet.

        Without a schema, nothing is checked against it.
        """
        self.project = project
        self.session = session
        self.habits = habits or Habits()
        self.timing = timing or Timing()
        self.page_size = page_size
        self.violations: list[Finding] = []
        self.anomalies: list[Finding] = []
        self.errors: list[Json] = []
        self.faults: Counter[str] = Counter()
        self.reconnects = 0
        self.replayed = 0
        self.paged = 0
        self._base = base.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._schema = schema
        self._http = httpx.AsyncClient(
            headers=self._headers,
            timeout=self.timing.rest_timeout,
            trust_env=False,
            limits=httpx.Limits(max_keepalive_connections=0),  # A kept connection may belong to a killed server.
        )
        self._backoff = Backoff(self.timing)
        self._position = _Position()
        self._link: Link | None = None
        self._following = False

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Release the HTTP client."""
        await self.aclose()

    async def aclose(self) -> None:
        """Release the HTTP client; a running `stream` generator is closed by whoever iterates over it."""
        await self._http.aclose()

    @property
    def connected(self) -> bool:
        """Whether there is a socket; a dead one counts until that is noticed."""
        return self._link is not None

    async def disconnect(self) -> bool:
        """Cut the current socket as a failing network would; say whether there was one."""
        link = self._link
        if link is None:
            return False
        link.abort()
        await asyncio.sleep(0)
        return True

    # --- the stream ---------------------------------------------------------------------------------------------

    async def stream(self) -> AsyncGenerator[Item, None]:
        """Yield the session's messages from its first one on, each once and in order, until closed.

        Cancelling a pending `anext` ends an asynchronous generator, so iterate in a task of its own instead of
        waiting for each item with a time limit.
        """
        if self._following:
            message = "a client follows its session once at a time"
            raise RuntimeError(message)
        self._following = True
        self._position = _Position()
        self._backoff.reset()
        try:
            while True:
                asked = 0.0
                try:
                    async with aclosing(self._visit()) as items:
                        async for item in items:
                            yield item
                except InvalidStatus as error:
                    self.faults[f"handshake {error.response.status_code}"] += 1
                    asked = _seconds(error.response.headers.get("Retry-After"))
                except _DroppedError as error:
                    self.faults[f"dropped: {error}"] += 1
                    asked = error.retry_after
                except (OSError, EOFError, WebSocketException) as error:
                    self.faults[f"socket: {type(error).__name__}"] += 1
                await self._backoff.wait(asked)
        finally:
            self._following = False

    async def _visit(self) -> AsyncGenerator[Item, None]:
        """Open one socket and yield what it brings."""
        socket = await connect(
            "ws" + self._base.removeprefix("http") + "/ws",
            additional_headers=self._headers,
            proxy=None,
            ping_interval=None,  # The protocol has its own pings.
            max_size=None,
            open_timeout=self.timing.answer_within,
            close_timeout=0.5,
        )
        self.reconnects += self._position.visits > 0
        self._position.visits += 1
        link = self._link = Link(socket, self.timing, self._parse)
        try:
            async with aclosing(self._follow(link)) as items:
                async for item in items:
                    yield item
        finally:
            self._link = None
            for error in await link.close():
                self.faults[f"task: {error!r}"] += 1

    async def _follow(self, link: Link) -> AsyncGenerator[Item, None]:
        visit = await self._greet(link)
        while (frame := await self._next_frame(link, visit)) is not None:
            if await self._needs_rest(frame, link, visit):
                async with aclosing(self._catch_up()) as items:
                    async for item in items:
                        yield item
                self._settle(visit)
            if frame["type"] == "stream":
                found = self._take_frame(frame, visit)
                if found is not None:
                    yield found

    async def _greet(self, link: Link) -> _Visit:
        """Send the first message of a socket."""
        position = self._position
        choice = self.habits.resume
        may_resume = choice == "reconnect" or (choice == "alternate" and position.visits % 2 == 0)
        if position.agent is None or position.cursor is None or not may_resume:
            await self._start(link)
            return _Visit(_Phase.STARTED)
        by_tool = self.habits.tool_cursor and position.open_tool is not None
        cursor = position.open_tool if by_tool else position.cursor
        await link.send({"type": "reconnect", "agentId": position.agent, "lastMessageId": self._spelled(cursor)})
        return _Visit(_Phase.REPLAYING, by_tool=by_tool, exact_cursor=cursor == position.newest)

    async def _start(self, link: Link) -> None:
        await link.send({"type": "start", "projectPath": self.project, "sessionId": self.session})

    async def _next_frame(self, link: Link, visit: _Visit) -> Json | None:
        """Wait for a frame; None is the end of the socket."""
        limits = {_Phase.LIVE: None, _Phase.CONNECTED: self.timing.history_within}
        limit = limits.get(visit.phase, self.timing.answer_within)
        try:
            async with asyncio.timeout(limit):
                return await link.frames.get()
        except TimeoutError:
            if visit.phase is _Phase.CONNECTED:
                return _SILENCE
            reason = "no answer to the first message"
            raise _DroppedError(reason) from None

    async def _needs_rest(self, frame: Json, link: Link, visit: _Visit) -> bool:
        """Follow the protocol by one frame, and say whether what was missed has to come through REST now."""
        kind = frame["type"]
        if kind == "error":
            kind = self._kind_of_error(frame, visit)
        if kind == "connected":
            self._on_connected(frame, visit)
        elif kind == "reconnect_complete":
            self._on_reconnect_complete(frame, visit)
        elif kind in {"cursor_evicted", "cursor_invalid"}:
            self._on_cursor_refused(kind, frame, visit)
            await self._start(link)
        elif kind == "stream":
            return self._comes_too_early(frame, visit)
        # A `history` ends where the live stream begins, so REST is asked only after it.  Its messages have no ids.
        return kind == "" or (kind == "history" and visit.phase is not _Phase.REPLAYING)

    def _kind_of_error(self, frame: Json, visit: _Visit) -> str:
        """Keep an error; return it as a cursor reply if it is one; drop the socket if it cannot be used any more."""
        self.errors.append(frame)
        code = str(frame.get("code", ""))
        if code.lower() in {"cursor_evicted", "cursor_invalid"}:
            return code.lower()
        if visit.phase is _Phase.LIVE and frame.get("recoverable") is True:
            return "error"
        if visit.phase is _Phase.REPLAYING or code.upper() == "AGENT_NOT_FOUND":
            self._position.agent = None
        reason = f"error {code}"
        raise _DroppedError(reason, _seconds(frame.get("retryAfter")))

    def _on_connected(self, frame: Json, visit: _Visit) -> None:
        agent = frame.get("agentId")
        if isinstance(agent, str):
            self._position.agent = agent
        if str(frame.get("sessionId")).lower() != self.session.lower():
            self._remark("connected", "another session than the one asked for", frame)
        if visit.phase is _Phase.STARTED:
            visit.phase = _Phase.CONNECTED

    def _on_reconnect_complete(self, frame: Json, visit: _Visit) -> None:
        if visit.phase is not _Phase.REPLAYING:
            self._remark("reconnect_complete", "no replay was under way", frame)
            return
        if frame.get("missedCount") != visit.replayed:
            self._remark("reconnect_complete", f"missedCount is wrong: {visit.replayed} messages came", frame)
        self._settle(visit)

    def _on_cursor_refused(self, kind: str, frame: Json, visit: _Visit) -> None:
        if visit.by_tool:
            self._remark(kind, "the id of a running tool was not accepted as a cursor", frame)
        self.faults[kind] += 1
        self._position.rewind = kind == "cursor_invalid"
        visit.phase = _Phase.STARTED

    def _comes_too_early(self, frame: Json, visit: _Visit) -> bool:
        if visit.phase in {_Phase.STARTED, _Phase.CONNECTED}:
            self._remark("stream", "a stream message before connected and history", frame)
            return True
        return False

    def _settle(self, visit: _Visit) -> None:
        visit.phase = _Phase.LIVE
        self._backoff.reset()

    # --- messages -----------------------------------------------------------------------------------------------

    def _take_frame(self, frame: Json, visit: _Visit) -> Item | None:
        """Take a stream frame unless it has been yielded already."""
        key = str(frame.get("id")).lower()
        if key in visit.ids:
            self._remark("stream", "the same id twice on one socket", frame)
        visit.ids.add(key)
        replaying = visit.phase is _Phase.REPLAYING
        visit.replayed += replaying
        if replaying and visit.exact_cursor and key in self._position.seen:
            self._remark("stream", "replayed although it is not after the cursor", frame)
        item = self._take(frame, "stream")
        self.replayed += replaying and item is not None
        return item

    def _take(self, entry: Json, where: str) -> Item | None:
        """Take a message with its id, and move the cursor to it, unless it has been yielded already."""
        identity, message = entry.get("id"), entry.get("message")
        if not isinstance(identity, str) or not isinstance(message, dict):
            return None  # A violation by now.
        digest = hash(json.dumps(message, sort_keys=True))
        known = self._position.seen.get(identity.lower())
        if known is not None:
            if known != digest:
                self._remark(where, "an id that came before with another message", entry)
            return None
        self._position.seen[identity.lower()] = digest
        self._position.cursor = self._position.newest = identity
        self._watch_tools(message)
        return Item(identity, str(entry.get("timestamp", "")), message)

    def _watch_tools(self, message: Json) -> None:
        """Remember the tool that is running."""
        kind, position = message.get("type"), self._position
        if kind == "tool_use" and isinstance(message.get("id"), str):
            position.open_tool = message["id"]
        ends_turn = kind == "user" or (kind == "state" and message.get("state") == "idle")
        if ends_turn or (kind == "tool_result" and message.get("id") == position.open_tool):
            position.open_tool = None

    async def _catch_up(self) -> AsyncGenerator[Item, None]:
        """Yield what REST has after the cursor, or in the whole session, and has not been yielded yet."""
        after = None if self._position.rewind else self._position.cursor
        while True:
            page = await self._page(after)
            if page is None:
                after = None
                continue
            entries = [entry for entry in page["messages"] if isinstance(entry, dict)]
            for entry in entries:
                item = self._take(entry, "messages")
                if item is not None:
                    self.paged += 1
                    yield item
            last = entries[-1].get("id") if entries else None
            if isinstance(last, str):
                self._position.cursor = last  # After a rewind also when it was known: the server knows this one.
            if not self._has_more(page, after, last):
                break
            after = last
        self._position.rewind = False

    def _has_more(self, page: Json, after: str | None, last: object) -> bool:
        pagination = page.get("pagination")
        if not isinstance(pagination, dict) or pagination.get("hasMore") is not True:
            return False
        if not isinstance(last, str) or last.lower() == (after or "").lower():
            self._remark("messages", "hasMore without a further message", pagination)
            return False
        return True

    async def _page(self, after: str | None) -> Json | None:
        """Fetch a page, however long that takes; None means that the server does not accept the cursor."""
        backoff = Backoff(self.timing)
        while True:
            asked = 0.0
            try:
                page = await self.messages(after=after, order="asc", denormalize=False, limit=self.page_size)
            except ApiError as error:
                self.faults[f"messages: {error}"] += 1
                refused = error.status // 100 == 4 and error.status not in _NOT_REFUSALS
                asked = error.retry_after
            except httpx.HTTPError as error:
                self.faults[f"messages: {type(error).__name__}"] += 1
                refused = False
            else:
                refused = "error" in page
                if not refused and isinstance(page.get("messages"), list):
                    return page
                self.faults[f"messages: {page.get('error')}"] += 1
            if refused and after is not None:
                return None
            await backoff.wait(asked)

    # --- REST ---------------------------------------------------------------------------------------------------

    async def health(self) -> Json:
        """Return the state of the server."""
        return await self._get_object("/health")

    async def projects(self) -> Json:
        """Return the projects."""
        return await self._get_object("/projects")

    async def sessions(self, *, limit: int | None = None, offset: int | None = None, source: str | None = None) -> Json:
        """Return a page of the project's sessions."""
        return await self._get_object(SESSIONS_PATH, {"limit": limit, "offset": offset, "source": source})

    async def messages(
        self,
        *,
        before: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        types: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        denormalize: bool | None = None,
        include_raw_content: bool | None = None,
    ) -> Json:
        """Return a page of the session's messages; what is None is left to the server's defaults."""
        query = {
            "before": self._spelled(before),
            "after": self._spelled(after),
            "limit": limit,
            "offset": offset,
            "types": types,
            "order": order,
            "denormalize": denormalize,
            "includeRawContent": include_raw_content,
        }
        return await self._get_object(SESSION_PATH + "/messages", query)

    async def search(
        self, q: str, *, project: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> Json:
        """Search all sessions, or those of a project."""
        return await self._get_object("/search", {"q": q, "project": project, "limit": limit, "offset": offset})

    async def export(
        self, form: Literal["markdown", "json"] = "markdown", *, exclude_thinking: bool | None = None
    ) -> Any:
        """Return the session as Markdown text, or as whatever JSON value the server makes of it."""
        return await self._get(SESSION_PATH + "/export", {"format": form, "excludeThinking": exclude_thinking})

    async def _get_object(self, path: str, query: Mapping[str, object] | None = None) -> Json:
        body = await self._get(path, query or {})
        if not isinstance(body, dict):
            raise ApiError(_OK, "NOT_AN_OBJECT", 0.0)
        return body

    async def _get(self, path: str, query: Mapping[str, object]) -> Any:
        """Get a path of the OpenAPI document; raise ApiError unless the answer is 200 with a readable body."""
        filled = path.format(encodedPath=quote(self.project, safe=""), sessionId=quote(self.session, safe=""))
        parameters = {name: _spell(value) for name, value in query.items() if value is not None}
        response = await self._http.get(self._base + filled, params=parameters)
        where = f"GET {path} {response.status_code}"
        media = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        body: Any = response.text
        if media == "application/json":
            try:
                body = json.loads(response.text)
            except (ValueError, RecursionError) as error:
                self._object_to(where, [f"not JSON: {error}"], response.text)
                raise ApiError(response.status_code, "NOT_JSON", 0.0) from None
        if self._schema is not None:
            problems = self._schema.response_problems(path, response.status_code, media, body)
            self._object_to(where, problems, response.text)
        if response.status_code != _OK:
            retry_after = _seconds(response.headers.get("Retry-After"))
            code = str(body.get("code", "")) if isinstance(body, dict) else ""
            raise ApiError(response.status_code, code, retry_after)
        return body

    def _spelled(self, cursor: str | None) -> str | None:
        """Write a cursor as the habits have it; ids that are no UUIDs stay as they are."""
        if cursor is None or not self.habits.upper_case:
            return cursor
        try:
            UUID(cursor)
        except ValueError:
            return cursor
        return cursor.upper()

    # --- findings -----------------------------------------------------------------------------------------------

    def _parse(self, raw: str | bytes) -> Json | None:
        """Read a frame and check it; None if it is of no use."""
        shown = raw if isinstance(raw, str) else repr(raw[:_SHOWN])
        if isinstance(raw, bytes):
            self._object_to("ws", ["a binary frame"], shown)
        try:
            frame = json.loads(raw)
        except (ValueError, RecursionError) as error:
            self._object_to("ws", [f"not JSON: {error}"], shown)
            return None
        if self._schema is not None:
            self._object_to("ws", self._schema.problems("ServerMessage", frame), shown)
        return frame if isinstance(frame, dict) and isinstance(frame.get("type"), str) else None

    def _object_to(self, where: str, problems: list[str], text: str) -> None:
        self.violations.extend(Finding(where, problem, _shorten(text)) for problem in problems)

    def _remark(self, where: str, problem: str, frame: Json) -> None:
        self.anomalies.append(Finding(where, problem, _shorten(json.dumps(frame))))


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _spell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seconds(value: object) -> float:
    """Read a number of seconds; whatever is none counts as 0."""
    try:
        return max(0.0, float(str(value)))
    except ValueError:
        return 0.0
