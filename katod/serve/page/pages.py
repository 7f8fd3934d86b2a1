"""The pages, at their addresses."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args
from urllib.parse import quote

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from katod import events as ev
from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.errors import KatodError, LedgerError
from katod.exchanges import Exchanges
from katod.formats.redact.redactor import redact, redact_json
from katod.formats.stream import bridge
from katod.formats.stream.bridge import event_uuid
from katod.formats.text.markup import Markup, join
from katod.formats.text.when import When
from katod.formats.transcript.pullrequest import pull_request
from katod.formats.transcript.turns import gathered
from katod.formatspec import MARKDOWN, open_format
from katod.log import EventLog
from katod.metadata import Replay
from katod.model import Options, PersonalWord
from katod.record.export import Stretch, for_export, render_all, replay
from katod.record.native import native_record
from katod.serve import failures
from katod.serve.feed.hub import Hub
from katod.serve.feed.tail import Tail
from katod.serve.http import ClosedStream, fields, html_response, while_there
from katod.serve.index.entry import NotServed, SessionEntry
from katod.serve.index.sessions import starter_of
from katod.serve.page import recording
from katod.serve.page.changedfiles import files_of, files_page
from katod.serve.page.findview import SearchResult, SearchResults, find_foot, find_head, found_in_page
from katod.serve.page.frame import plain
from katod.serve.page.listfilter import ListChoices, ListFilter
from katod.serve.page.listview import ListView, list_page, older_page
from katod.serve.page.reader import PageReader, whole_of
from katod.serve.page.search import SearchOutcome, SessionSearch, shown_hits
from katod.serve.page.searchquery import SearchQuery
from katod.serve.page.sessionlist import ListRow, SessionList
from katod.serve.page.sessionview import DOWNLOADS, FOR_PULL_REQUEST, Beside, cut_off, gone, session_foot, session_head
from katod.serve.page.streams import Streams
from katod.serve.worker import Busy
from katod.store.rows import OutputRow, PersonalRow
from katod.text import slug

_WORDS: Final = {"start": "start", "stop": "stop", "capture": "capture"}
_UNREDACTED: Final = (
    "Secrets were not redacted when this transcript was written, so it is not shown here. Open the file itself."
)
_NO_RECORD: Final = (
    "No record with these words was found: the agent may keep the session as one document, the file may have changed, "
    "or katod put the words together from several records."
)
_NO_QUESTION: Final = "This message is no longer in the agent's file."
_PATIENCE: Final = 10.0  # seconds for katod's answer
_FOR_ALL: Final = 60.0  # seconds that a choice waits until all sessions were read once,
_FOR_FAMILY: Final = 1.0  # and a session, to know which others its agent started
_POLL: Final = 0.02
_TEXTS: Final = frozenset({ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE})
_CUT_OFF: Final = "The rest could not be read now: load this page again."
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
SearchElsewhere = Callable[[SearchQuery], Awaitable[Markup]]


class Pages:
    """The pages over what a hub has. `state` is where katod keeps what it knows.

    `elsewhere` searches what other machines share, if any do.
    """

    def __init__(self, hub: Hub, options: Options, state: Path, elsewhere: SearchElsewhere | None = None) -> None:
        self._hub = hub
        self._elsewhere = elsewhere
        self._options = options
        self._state = state
        self._sessions = SessionList(hub.index, redact=options.redact, halted=partial(recording.halted, state))
        self._make_reader = partial(PageReader, options=options, log=hub.log)
        self._streams = Streams(hub, self._sessions, self._make_reader, partial(recording.outputs_of, state))
        self._finder = SessionSearch(hub, options.time_zone)
        self._beginnings: asyncio.Task[None] | None = None

    def routes(self) -> list[Route]:
        """Return the addresses of the pages."""
        one = "/s/{session}"
        pages: dict[str, Handler] = {
            "/": self._list,
            "/live": self._list_live,
            "/find": self._find,
            one: self._session,
            f"{one}/live": self._session_live,
            f"{one}/older": partial(self._neighbour, is_older=True),
            f"{one}/newer": partial(self._neighbour, is_older=False),
            f"{one}/files": self._files,
            f"{one}/markdown": self._markdown,
            f"{one}/record": self._native,
            f"{one}/download/{{form}}": self._download,
            f"{one}/transcripts/{{number}}": self._transcript,
        }
        routes = [Route(path, guarded(page)) for path, page in pages.items()]
        posts: dict[str, Handler] = {
            f"{one}/recording": self._record, f"{one}/keep": self._keep, f"{one}/own": self._keep_words,
        }  # fmt: skip
        return [*routes, *(Route(path, guarded(act), methods=["POST"]) for path, act in posts.items())]

    # -- the list ---------------------------------------------------------------------------------------

    async def _list(self, request: Request) -> Response:
        chosen = ListFilter.of(request.query_params)
        await self._begun(0 if chosen.is_empty else _FOR_ALL)
        if given := request.query_params.get("older", ""):
            rows, older = await self._hub.reading.run(lambda: self._sessions.page(given, chosen))
            return html_response(older_page(rows, older, time.time(), chosen))
        rows, name = await self._streams.list_now()
        older, view = self._sessions.older, ListView(chosen, ListChoices.of(rows), self._elsewhere is not None)
        if not chosen.is_empty:
            rows, older = await self._hub.reading.run(lambda: self._sessions.page("", chosen))
        return html_response(list_page(rows, older, name, time.time(), view))

    async def _begun(self, seconds: float) -> None:
        """Begin to read what sessions are about, in the background, and wait up to so many seconds for that."""
        if self._beginnings is None:
            self._beginnings = asyncio.create_task(self._read_beginnings())
        if seconds:
            await asyncio.wait([self._beginnings], timeout=seconds)

    async def _read_beginnings(self) -> None:
        """Read what each session is about, so that the first choice of a project does not have to read them all."""
        with suppress(Busy, LedgerError):
            async for _ in self._hub.reading.stream(self._sessions.read_all()):
                pass

    async def _list_live(self, request: Request) -> Response:
        return self._streams.answer(self._streams.of_list(_since(request), ListFilter.of(request.query_params)))

    # -- one session ------------------------------------------------------------------------------------

    async def _entry(self, request: Request) -> SessionEntry | None:
        return await self._hub.find(request.path_params["session"])

    async def _session(self, request: Request) -> Response:
        if (entry := await self._entry(request)) is None:
            return _missing()
        await self._begun(_FOR_FAMILY if AGENTS[entry.key.agent].names_parents else 0)
        row, beside = await self._hub.reading.run(lambda: (self._sessions.row(entry), self._beside(entry)))
        reader = self._make_reader(partial(self._hub.index.content, entry.name))
        return ClosedStream(self._conversation(entry, row, beside, reader), media_type="text/html")

    async def _conversation(
        self, entry: SessionEntry, row: ListRow, beside: Beside, reader: PageReader
    ) -> AsyncIterator[Markup]:
        """Yield the page piece by piece, so that its beginning can be seen while the rest is read."""
        yield session_head(row, beside, time.time())
        try:
            async for piece in self._messages(entry, row, beside, reader):
                yield piece
        except NotServed:
            yield cut_off("This session is no longer here.")
        except (Busy, KatodError):
            yield cut_off(_CUT_OFF)
        except Exception as error:  # noqa: BLE001 - what was read of it is shown
            failures.note(self._hub.log, error, entry.key)
            yield cut_off(_CUT_OFF)

    async def _messages(
        self, entry: SessionEntry, row: ListRow, beside: Beside, reader: PageReader
    ) -> AsyncIterator[Markup]:
        """Yield the conversation and the end of the page. Its reader then goes on for the page's stream."""
        tail, missing = Tail(), self._hub.kept(entry.name, self._make_reader)
        async with aclosing(self._hub.reading.stream(reader.whole())) as found:
            async for some in found:
                tail.extend(some)
                missing.difference_update(sent.id for sent in some)
                yield whole_of(some)
        held, prompts = await self._hub.reading.run(lambda: (reader.held(), reader.prompts()))
        await self._hub.take_over(entry.name, self._make_reader, reader, tail, changed=bool(missing))
        last = tail.position().name
        if not last and await self._hub.reading.run(entry.is_gone):
            yield gone(row, beside.outputs)
        yield session_foot(row, last, held, prompts)

    def _beside(self, entry: SessionEntry) -> Beside:
        index, starter = self._hub.index, starter_of(entry)
        main = index.main_of(entry)
        family, more = self._sessions.family(entry)
        return Beside(
            recording.command_of(main) if main.files else "", recording.outputs_of(self._state, entry.key),
            family, more, starter if index.find(starter) is not None else "",
        )  # fmt: skip

    async def _session_live(self, request: Request) -> Response:
        if (entry := await self._entry(request)) is None:
            return _missing()
        return self._streams.answer(self._streams.of_session(entry, bridge.folded(_since(request))), entry.key)

    async def _neighbour(self, request: Request, *, is_older: bool) -> Response:
        """Lead to the session of the same project that changed before or after one."""
        if (entry := await self._entry(request)) is None:
            return _missing()
        main = await self._hub.reading.run(lambda: self._hub.index.main_of(entry))
        found = await self._hub.reading.last(self._sessions.beside(main, is_older=is_older))
        if found is None:
            word = "older" if is_older else "newer"
            return html_response(plain("No more", f"There is no {word} session of this project.", f"/s/{entry.name}"))
        return RedirectResponse(f"/s/{found.name}", 303)

    async def _files(self, request: Request) -> Response:
        if (entry := await self._entry(request)) is None:
            return _missing()
        row = await self._hub.reading.run(lambda: self._sessions.row(entry))
        say = redact if self._options.redact else str
        files = await self._hub.searching.last(files_of(_events(entry), say))
        return html_response(files_page(row, files or [], self._options.time_zone))

    async def _markdown(self, request: Request) -> Response:
        if (entry := await self._entry(request)) is None:
            return _missing()
        wanted = bridge.folded(request.query_params.get("only", ""))
        if wanted:
            found = _one_message(_events(entry), wanted, self._options)
            message = await self._hub.searching.last(found)
            return Response(message or "", 200 if message else 404, media_type="text/markdown")
        pieces = self._hub.reading.stream(_exported(_events(entry), MARKDOWN, self._options))
        return ClosedStream(_joined(pieces), media_type="text/markdown")

    async def _native(self, request: Request) -> Response:
        """Return the native record of one event, with its secrets redacted."""
        entry, wanted = await self._entry(request), bridge.folded(request.query_params.get("only", ""))
        if entry is None or not wanted:
            return _missing()
        if (found := await self._hub.searching.last(_record_of(entry, wanted))) is None:
            return html_response(plain("Not shown", _NO_RECORD, f"/s/{entry.name}"), 404)
        text = await self._hub.searching.run(lambda: _indented(found, redacted=self._options.redact))
        return Response(text, media_type="text/plain; charset=utf-8")

    async def _download(self, request: Request) -> Response:
        """Return a session as a file of its own, in the form that is named."""
        entry, form = await self._entry(request), request.path_params["form"]
        if entry is None or form not in DOWNLOADS:
            return _missing()
        row, said = await self._hub.reading.run(lambda: (self._sessions.row(entry), self._hub.index.said(entry)))
        name = f"{slug(row.title) or 'session'}{DOWNLOADS[form]}"
        pieces = self._hub.reading.stream(_exported(_events(entry, said), form, self._options))
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
        return ClosedStream(_joined(pieces), media_type="application/octet-stream", headers=headers)

    async def _transcript(self, request: Request) -> Response:
        """Return a transcript of a session, as text."""
        if (entry := await self._entry(request)) is None:
            return _missing()
        number = request.path_params["number"]
        row = await self._hub.reading.run(lambda: recording.output_of(self._state, entry.key, number))
        if row is None:
            return _missing()
        back = f"/s/{entry.name}"
        if self._options.redact and not row.options.redact:
            return html_response(plain("Not shown", _UNREDACTED, back), 403)
        if refusal := await self._hub.reading.run(lambda: recording.refusal_of(row)):
            return html_response(plain("Not shown", refusal, back), 409)
        return ClosedStream(_bytes(self._hub, row), media_type="text/plain; charset=utf-8")

    async def _record(self, request: Request) -> Response:
        """Have a recording started or stopped, and show the session again."""
        given = fields(await request.body()).get("do", "")
        entry, word = await self._entry(request), _WORDS.get(given)
        if entry is None or word is None:
            return _missing()
        back = f"/s/{entry.name}"
        message = await self._asked(entry, word)
        if message:
            return html_response(plain("Not done", message, back), 409)
        return RedirectResponse(back, 303)

    async def _keep(self, request: Request) -> Response:
        """Have an exchange written to a file, and show that."""
        wanted = bridge.folded(fields(await request.body()).get("question", ""))
        if not wanted or (entry := await self._entry(request)) is None:
            return _missing()
        question = await while_there(request, self._hub.searching.last(_question_of(_events(entry), wanted)))
        back = f"/s/{entry.name}"
        message = await self._asked(entry, "keep", question=question) if question else _NO_QUESTION
        if message:
            return html_response(plain("Not done", message, back), 409)
        outputs = await self._hub.reading.run(lambda: recording.outputs_of(self._state, entry.key))
        return RedirectResponse(f"{back}/transcripts/{outputs[-1].id}" if outputs else back, 303)

    async def _keep_words(self, request: Request) -> Response:
        """Have what the user says of a session kept, and show the session again."""
        given = fields(await request.body(), blank=True)
        entry, word = await self._entry(request), next((word for word in get_args(PersonalWord) if word in given), None)
        if entry is None or word is None:
            return _missing()
        back = f"/s/{entry.name}"
        if message := await self._asked(entry, word, given[word]):
            return html_response(plain("Not done", message, back), 409)
        return RedirectResponse(back, 303)

    async def _asked(self, entry: SessionEntry, word: Any, words: str = "", question: str = "") -> str:
        """Send a request to katod. Returns why it was refused, empty if it was carried out."""
        place = await self._hub.reading.run(lambda: recording.request(self._state, entry.key, word, words, question))
        if place is None:
            return recording.not_running()
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            message = await self._hub.reading.run(lambda: recording.answer(place))
            if message is not None:
                await self._hub.reading.run(self._hub.index.look_again)
                return message
            await asyncio.sleep(_POLL)
        return "katod did not answer in time; the request is still waiting. `katod status` may say why."

    # -- search -----------------------------------------------------------------------------------------

    async def _find(self, request: Request) -> Response:
        asked, when = SearchQuery.of(request.query_params), When(self._options.time_zone)
        if asked.within:
            return await self._find_in(asked, when)
        is_any, chosen = bool(asked.query.words), asked.chosen
        await self._begun(0 if chosen.is_empty else _FOR_ALL)
        here = await self._found_here(asked) if is_any else SearchResults((), ())
        there = ListChoices.of((await self._hub.reading.run(self._sessions.page))[0])
        elsewhere = self._elsewhere if is_any and chosen.is_empty else None
        head = find_head(asked, there, here, when, time.time(), is_all=elsewhere is None)
        if elsewhere is None:
            return html_response(join((head, find_foot())))
        return ClosedStream(_found(head, partial(elsewhere, asked)), media_type="text/html")

    async def _found_here(self, asked: SearchQuery) -> SearchResults:
        found = await self._finder.find(asked, self._wants(asked.chosen))
        rows = self._hub.reading.stream(
            SearchResult(self._sessions.row(one), shown_hits(match), match.total) for one, match in found.sessions
        )
        results = [row async for some in rows for row in some]
        named = await self._hub.reading.last(self._sessions.named(asked.query, asked.chosen))
        return SearchResults(named or [], results, self._said(found))

    def _wants(self, chosen: ListFilter) -> Callable[[SessionEntry], bool]:
        """Return whether a session is searched; if all are, without reading any."""
        return (lambda _: True) if chosen.is_empty else partial(self._sessions.is_chosen, chosen=chosen)

    async def _find_in(self, asked: SearchQuery, when: When) -> Response:
        if (entry := await self._hub.find(asked.within)) is None:
            return _missing()
        found = await self._finder.find_in(asked.query, entry) if asked.query.words else SearchOutcome([], [])
        row = await self._hub.reading.run(lambda: self._sessions.row(entry))
        hits = [hit for match in found.matches for hit in match.hits]
        return html_response(found_in_page(asked, row, hits, when, self._said(found)))

    def _said(self, found: SearchOutcome) -> list[str]:
        return [redact(problem) if self._options.redact else problem for problem in found.problems]


async def _found(head: Markup, elsewhere: Callable[[], Awaitable[Markup]]) -> AsyncIterator[Markup]:
    """Yield the page of a search: what was found here is shown while other machines are searched."""
    yield head
    yield await elsewhere()
    yield find_foot()


def _exported(events: Replay, form: str, options: Options) -> Iterator[str]:
    if form != FOR_PULL_REQUEST:
        yield from render_all(events, form, for_export(options, form, ""))
    elif (conversation := gathered(events, options)) is not None:
        yield pull_request(conversation)


def _since(request: Request) -> str:
    """Return the last events that a page has, as its browser says, or the page itself at first."""
    return request.headers.get("last-event-id") or request.query_params.get("after", "")


def _events(found: FoundSession, said: PersonalRow | None = None) -> Any:
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    return replay(found.key, stretches, EventLog(), said=said, skip_missing=True)


async def _joined(pieces: AsyncIterator[list[str]]) -> AsyncIterator[str]:
    async for some in pieces:
        yield "".join(some)


async def _bytes(hub: Hub, row: OutputRow) -> AsyncIterator[bytes]:
    async for some in hub.reading.stream(recording.pieces_of(row)):
        yield b"".join(some)


def _missing() -> Response:
    return html_response(plain("Not here", "There is no such session here."), 404)


def guarded(answer: Handler) -> Handler:
    """Return an answer that says so if the sessions cannot be read now.

    It ends when its client leaves, unless it changes something: that is done all the same.
    """

    async def page(request: Request) -> Response:
        try:
            return await (answer(request) if request.method == "POST" else while_there(request, answer(request)))
        except NotServed:  # it was found, but is gone now
            return _missing()
        except (Busy, KatodError):
            message = "The sessions cannot be read now: load this page again."
            return html_response(plain("Not now", message), 503, {"Retry-After": "1"})

    return page


def _record_of(entry: SessionEntry, wanted: str) -> Iterator[list[Any] | None]:
    stretches = [Stretch(path, identity) for path, identity, _ in entry.files]
    return native_record(entry.key, stretches, lambda event: event_uuid(event.id) == wanted)


def _indented(records: list[Any], *, redacted: bool) -> bytes:
    """Return native records as people can read them."""
    shown = records[0] if len(records) == 1 else records
    try:
        return orjson.dumps(redact_json(shown) if redacted else shown, option=orjson.OPT_INDENT_2) + b"\n"
    except TypeError:  # only hostile files have that
        return b"This record is nested too deep to be shown.\n"


def _one_message(events: Replay, wanted: str, options: Options) -> Iterator[str | None]:
    """Yield what one event says, if there is such an event, and None for each before it.

    A message is as it was written, others are as in a transcript.
    """
    printer = open_format(MARKDOWN, replace(for_export(options, MARKDOWN, ""), tools="full", thinking=True))
    for event, metadata in events:
        printed = printer.event(event, metadata)
        if event_uuid(event.id) == wanted:
            say = redact if options.redact else str
            yield say(event.payload["text"]) + "\n" if event.kind in _TEXTS else printed.strip("\n") + "\n"
            return
        yield None


def _question_of(events: Replay, wanted: str) -> Iterator[str | None]:
    """Yield the question with which the exchange of a message begins, given its id on the page; None before that."""
    known, found, question = Exchanges(), "", ""
    for event, metadata in events:
        if event.session.subagent == metadata.key.subagent:
            known.observe(event)
        if event_uuid(event.id) == wanted:
            found, question = event.id, known.newest
        if found and known.newest != question:  # a later question, or a slash command that the agent answers
            break
        yield None
    yield found if found and known.newest == found else question
