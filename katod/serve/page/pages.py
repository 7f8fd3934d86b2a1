"""The pages, at their addresses."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from katod.discover.found import Found
from katod.errors import KatodError
from katod.formats.redact.redactor import redact
from katod.formats.stream import bridge
from katod.formats.when import When
from katod.log import EventLog
from katod.model import Options, SessionKey
from katod.record.export import Stretch, render_all, replay
from katod.serve import failures
from katod.serve.answers import fields
from katod.serve.feed import NotServed
from katod.serve.hub import Hub
from katod.serve.known import Known
from katod.serve.leaving import while_there
from katod.serve.page import recording
from katod.serve.page.board import Board, Row
from katod.serve.page.edited import files_of
from katod.serve.page.ending import cut_off, gone
from katod.serve.page.filesview import files_page
from katod.serve.page.finding import LONGEST, Finder, telling, words_of
from katod.serve.page.findview import Asked, Result, find_page, found_in_page
from katod.serve.page.frame import plain
from katod.serve.page.listview import list_page, older_page
from katod.serve.page.onemessage import one_message
from katod.serve.page.sessionview import Beside, session_foot, session_head
from katod.serve.page.sheet import Sheet
from katod.serve.page.streams import Streams
from katod.serve.sse import HEADERS
from katod.serve.stats import is_gone
from katod.serve.tail import Tail
from katod.serve.worker import Busy

_WORDS: Final = {"start": "start", "stop": "stop", "capture": "capture"}
_UNREDACTED: Final = (
    "Secrets were not redacted when this transcript was written, so it is not shown here. Open the file itself."
)
_PATIENCE: Final = 10.0  # seconds for katod's answer
_POLL: Final = 0.02
_STREAMS: Final = 64
_CUT_OFF: Final = "The rest could not be read now: load this page again."
Answer = Callable[[Request], Awaitable[Response]]


class Pages:
    """The pages over what a hub has. `state` is where katod keeps what it knows."""

    def __init__(self, hub: Hub, options: Options, state: Path) -> None:
        self._hub = hub
        self._options = options
        self._state = state
        self._board = Board(hub.shelf, redact=options.redact, halted=partial(recording.halted, state))
        self._opening = partial(Sheet, options=options, log=hub.log)
        self._streams = Streams(hub, self._board, self._opening, partial(recording.outputs_of, state))
        self._finder = Finder(hub)
        self._open = 0

    def routes(self) -> list[Route]:
        """Return where the pages are."""
        one = "/s/{session}"
        pages: dict[str, Answer] = {
            "/": self._list,
            "/live": self._list_live,
            "/find": self._find,
            one: self._session,
            f"{one}/live": self._session_live,
            f"{one}/files": self._files,
            f"{one}/markdown": self._markdown,
            f"{one}/transcripts/{{number}}": self._transcript,
        }
        routes = [Route(path, guarded(page), methods=["GET"]) for path, page in pages.items()]
        return [*routes, Route(f"{one}/recording", guarded(self._record), methods=["POST"])]

    # -- the list ---------------------------------------------------------------------------------------

    async def _list(self, request: Request) -> Response:
        if given := request.query_params.get("older", ""):
            rows, older = await self._hub.reading.run(lambda: self._board.page(given))
            return HTMLResponse(older_page(rows, older, time.time()))
        rows, name = await self._streams.list_now()
        return HTMLResponse(list_page(rows, self._board.older, name, time.time()))

    async def _list_live(self, request: Request) -> Response:
        return self._stream(self._streams.of_list(_since(request)))

    # -- one session ------------------------------------------------------------------------------------

    async def _known(self, request: Request) -> Known | None:
        return await self._hub.find(request.path_params["session"])

    async def _session(self, request: Request) -> Response:
        if (known := await self._known(request)) is None:
            return _missing()
        row, beside = await self._hub.reading.run(lambda: (self._board.row(known), self._beside(known)))
        sheet = self._opening(partial(self._hub.shelf.content, known.name))
        return StreamingResponse(self._conversation(known, row, beside, sheet), media_type="text/html")

    async def _conversation(self, known: Known, row: Row, beside: Beside, sheet: Sheet) -> AsyncIterator[str]:
        """Yield the page piece by piece, so that its beginning can be seen while the rest is read."""
        yield session_head(row, beside, time.time())
        try:
            async for piece in self._said(known, row, beside, sheet):
                yield piece
        except NotServed:
            yield cut_off("This session is no longer here.")
        except (Busy, KatodError):
            yield cut_off(_CUT_OFF)
        except Exception as error:  # noqa: BLE001 - what was read of it is shown
            failures.note(self._hub.log, error, known.key)
            yield cut_off(_CUT_OFF)

    async def _said(self, known: Known, row: Row, beside: Beside, sheet: Sheet) -> AsyncIterator[str]:
        """Yield what was said, and the end of the page; what it was read with then goes on for the page's stream."""
        last, tail, missing = "", Tail(), self._hub.kept(known.name, self._opening)
        async with aclosing(self._hub.reading.stream(sheet.whole())) as found:
            async for some in found:
                last = some[-1].id
                tail.extend(some)
                missing.difference_update(sent.id for sent in some)
                yield "".join(sent.text for sent in some)
        held, prompts = await self._hub.reading.run(lambda: (sheet.held(), sheet.prompts()))
        await self._hub.take_over(known.name, self._opening, sheet, tail, changed=bool(missing))
        if not last and await self._hub.reading.run(lambda: is_gone(known)):
            yield gone(row, beside.outputs)
        yield session_foot(row, last, held, prompts)

    def _beside(self, known: Known) -> Beside:
        main = self._main(known)
        children = [] if known.key.subagent else self._board.children(known)
        parent = main.name if main is not known else ""
        return Beside(
            recording.command_of(main) if main.files else "", recording.outputs_of(self._state, known.key),
            children, parent,
        )  # fmt: skip

    def _main(self, known: Known) -> Known:
        """Return the session that a sub-agent belongs to, or the session itself."""
        main = self._hub.shelf.find(bridge.session_uuid(known.key._replace(subagent="")))
        return main if main is not None else known

    async def _session_live(self, request: Request) -> Response:
        if (known := await self._known(request)) is None:
            return _missing()
        return self._stream(self._streams.of_session(known, bridge.folded(_since(request))), known.key)

    async def _files(self, request: Request) -> Response:
        if (known := await self._known(request)) is None:
            return _missing()
        row = await self._hub.reading.run(lambda: self._board.row(known))
        say = redact if self._options.redact else str
        files = await while_there(request, self._hub.searching.last(files_of(_events(known), say)))
        return HTMLResponse(files_page(row, files or [], self._options.time_zone))

    async def _markdown(self, request: Request) -> Response:
        if (known := await self._known(request)) is None:
            return _missing()
        wanted = bridge.folded(request.query_params.get("only", ""))
        if wanted:
            found = one_message(_events(known), wanted, self._options)
            told = await while_there(request, self._hub.searching.last(found))
            return Response(told or "", 200 if told else 404, media_type="text/markdown")
        pieces = self._hub.reading.stream(render_all(_events(known), "markdown", self._options))
        return StreamingResponse(_joined(pieces), media_type="text/markdown")

    async def _transcript(self, request: Request) -> Response:
        """Return what katod wrote of a session, as text."""
        if (known := await self._known(request)) is None:
            return _missing()
        outputs = await self._hub.reading.run(lambda: recording.outputs_of(self._state, known.key))
        output = next((one for one in outputs if str(one.id) == request.path_params["number"]), None)
        if output is None:
            return _missing()
        if self._options.redact and not output.is_redacted:
            return HTMLResponse(plain("Not shown", _UNREDACTED, f"/s/{known.name}"), 403)
        return StreamingResponse(_bytes(self._hub, output.path), media_type="text/plain; charset=utf-8")

    async def _record(self, request: Request) -> Response:
        """Have a recording started or stopped, and show the session again."""
        given = fields(await request.body()).get("do", "")
        known, word = await self._known(request), _WORDS.get(given)
        if known is None or word is None:
            return _missing()
        back = f"/s/{known.name}"
        told = await self._asked(known, word)
        if told:
            return HTMLResponse(plain("Not done", told, back), 409)
        return RedirectResponse(back, 303)

    async def _asked(self, known: Known, word: Any) -> str:
        """Return why katod did not do what was asked, empty if it did."""
        place = await self._hub.reading.run(lambda: recording.request(self._state, known.key, word))
        if place is None:
            return recording.not_running()
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            told = await self._hub.reading.run(lambda: recording.answer(place))
            if told is not None:
                await self._hub.reading.run(self._hub.shelf.look_again)
                return told
            await asyncio.sleep(_POLL)
        return "katod did not answer in time; the request is still waiting. `katod status` may say why."

    # -- search -----------------------------------------------------------------------------------------

    async def _find(self, request: Request) -> Response:
        query = request.query_params.get("q", "").strip()[:LONGEST]
        asked, when = Asked(query, words := words_of(query)), When(self._options.time_zone)
        if words and (name := request.query_params.get("in")):
            return await self._find_in(asked, name, when)
        found = await self._finder.find(words) if words else []
        results = await self._hub.reading.run(
            lambda: [Result(self._board.row(known), telling(match), match.total) for known, match in found]
        )
        named = await self._hub.reading.run(lambda: self._board.named(words)) if words else []
        return HTMLResponse(find_page(asked, named, results, when, time.time()))

    async def _find_in(self, asked: Asked, name: str, when: When) -> Response:
        if (known := await self._hub.find(name)) is None:
            return _missing()
        hits = await self._finder.find_in(list(asked.words), known)
        row = await self._hub.reading.run(lambda: self._board.row(known))
        return HTMLResponse(found_in_page(asked, row, hits, when))

    # -- streams ----------------------------------------------------------------------------------------

    def _stream(self, pieces: Any, key: SessionKey | None = None) -> Response:
        if self._open >= _STREAMS:
            return Response("too many pages are open", 503, {"Retry-After": "5"})
        return StreamingResponse(self._counted(pieces, key), headers=HEADERS)

    async def _counted(self, pieces: Any, key: SessionKey | None) -> AsyncIterator[str]:
        self._open += 1
        try:
            async for piece in pieces:
                yield piece
        except (Busy, KatodError, NotServed):
            return  # a browser comes back a second later
        except Exception as error:  # noqa: BLE001 - it comes back then, too
            failures.note(self._hub.log, error, key)
        finally:
            self._open -= 1
            await pieces.aclose()


def _since(request: Request) -> str:
    """Return the last event that a page has, as its browser says, or the page itself at first."""
    return request.headers.get("last-event-id") or request.query_params.get("after", "")


def _events(found: Found) -> Any:
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    return replay(found.key, stretches, EventLog(), skip_missing=True)


async def _joined(pieces: AsyncIterator[list[str]]) -> AsyncIterator[str]:
    async for some in pieces:
        yield "".join(some)


async def _bytes(hub: Hub, path: str) -> AsyncIterator[bytes]:
    async for some in hub.reading.stream(recording.pieces_of(path)):
        yield b"".join(some)


def _missing() -> Response:
    return HTMLResponse(plain("Not here", "There is no such session here."), 404)


def guarded(answer: Answer) -> Answer:
    """Return an answer that says so if the sessions cannot be read now."""

    async def page(request: Request) -> Response:
        try:
            return await answer(request)
        except NotServed:  # it was found, but is gone now
            return _missing()
        except (Busy, KatodError):
            told = "The sessions cannot be read now: load this page again."
            return HTMLResponse(plain("Not now", told), 503, {"Retry-After": "1"})

    return page
