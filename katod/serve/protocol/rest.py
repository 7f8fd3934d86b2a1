"""What clients of CodingBridge may GET: sessions, projects, pages of messages, exports, hits of a search."""

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from katod import __version__
from katod.errors import KatodError
from katod.formats.redact.redactor import redact
from katod.formatspec import MARKDOWN
from katod.log import EventLog
from katod.model import Options
from katod.record.export import Stretch, for_export, render_all, replay
from katod.serve.feed.hub import Hub
from katod.serve.feed.reader import ALL, streamed
from katod.serve.http import ClosedStream, json_response, problem, while_there
from katod.serve.index.entry import NotServed, SessionContent, SessionEntry
from katod.serve.index.sessions import SessionIndex
from katod.serve.protocol import listing, paging
from katod.serve.protocol.listing import SessionFilter
from katod.serve.protocol.outline import Outlines, Stale
from katod.serve.protocol.search import FoundRows, search
from katod.serve.worker import Busy
from katod.store.rows import PersonalRow

_RECENT, _MOST_RECENT = 10, 50
_SESSIONS, _MOST_SESSIONS = 50, 100
_HITS, _MOST_HITS = 20, 100
_LONGEST_QUERY: Final = 1000
_TRIES: Final = 4
_ROWS: Final = 4096  # brief ones that are handed over together: each turn of the thread may wait for other readings
Fields = dict[str, Any]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class RestApi:
    """The answers, from what a hub has."""

    def __init__(self, hub: Hub, options: Options) -> None:
        self._hub = hub
        self._options = options
        self._outlines = Outlines()
        self._began = time.monotonic()

    def routes(self) -> list[Route]:
        """Return the addresses of the answers."""
        project, session = "/projects/{project:whole}/sessions", "/projects/{project:whole}/sessions/{session}"
        answers: dict[str, Handler] = {
            "/health": self._health,
            "/metrics": self._metrics,
            "/projects": self._projects,
            "/sessions/recent": self._recent,
            "/search": self._search,
            project: self._sessions,
            f"{project}/count": self._count,
            f"{project}/search": self._search,
            session: self._session,
            f"{session}/children": self._children,
            f"{session}/messages": self._messages,
            f"{session}/export": self._export,
        }
        return [Route(path, _guarded(answer)) for path, answer in answers.items()]

    # -- the server -------------------------------------------------------------------------------------

    async def _health(self, _: Request) -> Response:
        return json_response({"status": "ok"} | self._measured())

    async def _metrics(self, _: Request) -> Response:
        return json_response(self._measured())

    def _measured(self) -> Fields:
        return {"agents": self._hub.viewed, "uptime": int(time.monotonic() - self._began), "version": __version__}

    # -- lists ------------------------------------------------------------------------------------------

    async def _projects(self, _: Request) -> Response:
        return json_response({"projects": listing.projects(await self._rows(SessionFilter()))})

    async def _recent(self, request: Request) -> Response:
        limit = paging.number(request.query_params, "limit", _RECENT, _MOST_RECENT)
        source, index = request.query_params.get("source", ""), self._hub.index
        rows = await (
            self._rows(SessionFilter(source=source)) if source else self._sorted(index.latest(), SessionFilter())
        )
        return json_response({"sessions": await self._about(rows[:limit])})

    async def _sessions(self, request: Request) -> Response:
        query = request.query_params
        wanted = SessionFilter(_project(request), query.get("source", ""), query.get("parentSessionId", "").lower())
        return await self._part(request, wanted, is_empty=paging.switch(query, "archivedOnly", default=False))

    async def _children(self, request: Request) -> Response:
        if (entry := await self._entry(request)) is None:
            return _not_found()
        return await self._part(request, SessionFilter(parent=entry.name))

    async def _part(self, request: Request, wanted: SessionFilter, *, is_empty: bool = False) -> Response:
        limit = paging.number(request.query_params, "limit", _SESSIONS, _MOST_SESSIONS)
        offset = paging.number(request.query_params, "offset", 0)
        rows = [] if is_empty else await self._rows(wanted)
        return json_response(listing.part(await self._about(rows[offset : offset + limit]), offset, len(rows)))

    async def _count(self, request: Request) -> Response:
        rows = await self._rows(SessionFilter(_project(request)))
        return json_response(listing.counted(rows, request.query_params.get("source", "")))

    async def _rows(self, wanted: SessionFilter) -> list[Fields]:
        """Return in brief the sessions that are wanted, the latest first."""
        return await self._sorted(self._hub.index.briefs(), wanted)

    async def _sorted(self, found: Iterator[Fields], wanted: SessionFilter) -> list[Fields]:
        rows: list[Fields] = []
        async for some in self._hub.reading.stream(found, _ROWS):
            rows += filter(wanted.has, some)
        return sorted(rows, key=lambda row: str(row["lastActivityAt"]), reverse=True)

    async def _about(self, rows: list[Fields]) -> list[Fields]:
        """Return the whole descriptions for brief ones."""
        index = self._hub.index

        def described() -> list[Fields]:
            entry = index.all()
            return [index.about(entry[row["id"]]) for row in rows if row["id"] in entry]

        return await self._hub.reading.run(described)

    # -- one session ------------------------------------------------------------------------------------

    async def _entry(self, request: Request) -> SessionEntry | None:
        """Return the session of a request, None if it is not one of the project."""
        entry = await self._hub.find(request.path_params["session"])
        if entry is None:
            return None
        about = await self._hub.reading.run(lambda: self._hub.index.about(entry))
        return entry if about["projectPath"] == _project(request) else None

    async def _session(self, request: Request) -> Response:
        if (entry := await self._entry(request)) is None:
            return _not_found()
        return json_response(await self._hub.reading.last(with_count(self._hub.index, entry)))

    async def _messages(self, request: Request) -> Response:
        want = paging.asked(request.query_params)
        if (entry := await self._entry(request)) is None:
            return _not_found()
        reading, content = self._hub.reading, partial(self._hub.index.content, entry.name)
        for _ in range(_TRIES):
            outlined = await reading.run(partial(self._outlines.of, entry.name, content))
            try:
                return json_response(await reading.last(paging.page(outlined, want)))
            except Stale as stale:  # a file was rewritten meanwhile
                await reading.run(partial(self._outlines.drop, entry.name, stale))
        raise Busy

    async def _export(self, request: Request) -> Response:
        query = request.query_params
        name = query.get("format", "markdown") or "markdown"
        exporting = {"markdown": _markdown, "json": _json}.get(name)
        if exporting is None:
            raise paging.WrongQuery("`format` is markdown or json")
        thinking = not paging.switch(query, "excludeThinking", default=False)
        raw = paging.switch(query, "includeStructuredContent", default=False)
        if (entry := await self._entry(request)) is None:
            return _not_found()
        content, said = self._hub.index.content(entry.name), self._hub.index.said(entry)
        return ClosedStream(
            self._pieces(exporting(content, said, self._options, thinking, raw)), media_type=_MEDIA[name]
        )

    async def _pieces(self, pieces: Iterator[str]) -> AsyncIterator[str]:
        async for some in self._hub.reading.stream(pieces):
            yield "".join(some)

    # -- search -----------------------------------------------------------------------------------------

    async def _search(self, request: Request) -> Response:
        query = request.query_params
        words = query.get("q", "").strip()
        if not words or len(words) > _LONGEST_QUERY:
            return json_response({"error": "MISSING_QUERY", "message": "`q` has the words to look for"}, 400)
        limit = paging.number(query, "limit", _HITS, _MOST_HITS)
        offset = paging.number(query, "offset", 0)
        project = _project(request) if "project" in request.path_params else query.get("project") or None
        projects = {row["id"]: row["projectPath"] for row in await self._rows(SessionFilter(project))}
        entry = await self._hub.reading.run(self._hub.index.all)
        places = [entry[name] for name in projects if name in entry and entry[name].paths]
        found = await self._hub.searching.last(search(words, places, projects))
        rows, problems = found or FoundRows([], [])
        has_more = offset + limit < len(rows)
        shown = {"query": words, "total": len(rows), "results": rows[offset : offset + limit], "hasMore": has_more}
        return json_response(shown | self._said(problems))

    def _said(self, problems: list[str]) -> Fields:
        say = redact if self._options.redact else str
        return {"problems": list(map(say, problems))} if problems else {}


_MEDIA: Final = {"markdown": "text/markdown; charset=utf-8", "json": "application/json"}


def _markdown(
    content: SessionContent, said: PersonalRow, options: Options, thinking: bool, _raw: bool
) -> Iterator[str]:
    events = replay(content.key, [Stretch(*file) for file in content.files], EventLog(), said=said, skip_missing=True)
    return render_all(events, MARKDOWN, replace(for_export(options, MARKDOWN, ""), thinking=thinking))


def _json(content: SessionContent, _said: PersonalRow, _options: Options, thinking: bool, raw: bool) -> Iterator[str]:
    """Yield a list of messages."""
    before = "["
    for sent in streamed(content):
        if thinking or sent["message"]["type"] != "thinking":
            yield before + orjson.dumps(paging.stored(sent, raw=raw)).decode()
            before = ",\n"
    yield "[]" if before == "[" else "]"


def _project(request: Request) -> str:
    return unquote(request.path_params["project"])


def _not_found() -> Response:
    return problem(404, "NOT_FOUND", "there is no such session here")


def _guarded(answer: Handler) -> Handler:
    """Return the same, with an answer for each error; it ends when its client leaves."""

    async def guarded(request: Request) -> Response:
        try:
            return await while_there(request, answer(request))
        except paging.WrongQuery as error:
            return problem(400, "INVALID_PARAMS", str(error))
        except NotServed:  # it was found, but is gone now
            return _not_found()
        except Busy:
            return problem(503, "BUSY", "too much is being read: try again", {"Retry-After": "1"})
        except KatodError:
            return problem(503, "UNAVAILABLE", "the sessions cannot be read now", {"Retry-After": "1"})

    return guarded


def with_count(index: SessionIndex, entry: SessionEntry) -> Iterator[Fields | None]:
    """Count the messages of a session: yields None now and then, and its description at last."""
    before = entry.stats
    if not entry.is_counted:
        count = 0
        for _ in streamed(index.content(entry.name), ALL):
            count += 1
            yield None
        entry.set_count(count, before)
    yield index.about(entry)
