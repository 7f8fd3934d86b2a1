"""`katod serve`: lists, first paint, what is appended until it is seen, viewers, and memory throughout, in one run."""

import asyncio
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Final

import httpx
import pytest

from katod.formats.stream.bridge import session_uuid
from katod.model import SessionKey
from tests.benchmarks import generate
from tests.benchmarks.daemon import session_path
from tests.benchmarks.idle import fill
from tests.benchmarks.report import Bar, Report, median, percentile
from tests.serve.browser import Browser, browsing
from tests.serve.serving import Served
from tests.support.live import memory, until
from tests.support.world import World

SEEN: Final = Bar(150, " ms")
LISTED: Final = Bar(200, " ms")
CHOSEN: Final = Bar(100, " ms")
PAINTED: Final = Bar(1000, " ms")
RSS: Final = Bar(60, " MB")
PAGE: Final = Bar(200, " ms")
_BIG: Final = 10_000_000  # bytes
_VIEWERS: Final = 25  # of each kind
_MESSAGES: Final = 100  # that each viewer is sent
_PAUSE: Final = 1.2  # seconds, after which the server looks again at what there is
_SWEEP: Final = 16.0  # seconds, in which it also looks for files that nobody told of
_RARE: Final = "%22marker-0-end%22"
_QUIET_SESSIONS: Final = 61.0  # seconds, after which a session is indexed
_QUIET: Final = 0.02  # CPU seconds that the server may use in a second while it rests
_LISTS: Final = {
    "/": "/",
    "/sessions/recent": "/sessions/recent?limit=50",
    "/projects/…/sessions": f"/projects/{generate.CWD.replace('/', '%2F')}/sessions?limit=100",
}
_CHOICES: Final = ("agent=Codex", f"project={generate.CWD.rpartition('/')[2]}", "days=30", "starred=1", "state=working")
_MARKER: Final = re.compile(r"marker-(\d+)-end")
# Notes when each message was painted: after the frame that it came in.
_WATCH: Final = """
window.seen = {};
new MutationObserver((all) => {
  const found = all.flatMap((one) => [...one.addedNodes]).map((node) => /marker-(\\d+)-end/.exec(node.textContent));
  requestAnimationFrame(() => setTimeout(() => {
    const now = (performance.timeOrigin + performance.now()) / 1000;
    for (const one of found) if (one) window.seen[one[1]] ??= now;
  }));
}).observe(document.getElementById('log'), {childList: true});
"""
_TIMING: Final = """
const paint = performance.getEntriesByType('paint').find((one) => one.name === 'first-contentful-paint');
const way = performance.getEntriesByType('navigation')[0];
return way.domComplete && paint ? [paint.startTime, way.domComplete, document.querySelectorAll('#log>.e').length] : null;
"""


class Process:
    """A server as a process, and what it needs; `figures` are its resident MB, by what was done last."""

    def __init__(self, server: Served, report: Report) -> None:
        self.server = server
        self._report = report
        self._client = httpx.Client(base_url=server.base, headers=server.headers, timeout=120)

    def took(self, path: str) -> float:
        """Return how many milliseconds it takes until an answer is here as a whole."""
        began = time.perf_counter()
        self._client.get(path).raise_for_status()
        return (time.perf_counter() - began) * 1000

    def text(self, path: str) -> str:
        """Return an answer."""
        return self._client.get(path).raise_for_status().text

    def weighed(self, after: str) -> None:
        """Print what it needs now, and what it ever needed."""
        now, most = (memory(self.server.pid, field) / 1024 for field in ("VmRSS", "VmHWM"))
        self._report.line(f"memory {after}", f"{now:.1f} MB, at most {most:.1f} MB", (most, RSS))

    def cpu(self) -> float:
        """Return the CPU time so far, in seconds."""
        return time.clock_gettime(~self.server.pid << 3 | 2)  # clock_getcpuclockid(3)

    def rests(self) -> None:
        """Wait until it does nothing."""

        def is_quiet() -> bool:
            before = self.cpu()
            time.sleep(1)
            return self.cpu() - before < _QUIET

        until(is_quiet, "the server to rest", 300, poll=0)


class Growing:
    """A session that grows."""

    def __init__(self, path: Path, made: generate.Session) -> None:
        self.path, self._made = path, made
        self.count = 0

    def append(self, text: str = "") -> float:
        """Append a message; return when."""
        rows = self._made.said(f"{text or self._made.texts.prose()}\n\nmarker-{self.count}-end")
        self.count += 1
        data, began = generate.lines(rows), time.time()
        with self.path.open("ab", buffering=0) as file:
            file.write(data)
        return began


def measure(report: Report, folder: Path, sessions: int, big: int, appends: int) -> None:
    """Measure a server of large sessions, and servers of many small ones, which are recorded, and are not."""
    note = "milliseconds at the client, MB of 1024² bytes; real servers, and Chromium"
    report.part(f"Served: {big} recorded sessions of 10 MB, and {sessions:,} small ones", note)
    if (free := shutil.disk_usage(folder.parent).free) < 2 * big * _BIG:
        report.note(f"not measured: {free / 1e6:.0f} MB are free here")
        return
    _large(report, World(folder / "large"), big, appends)
    _many(report, World(folder / "many"), sessions)


def _large(report: Report, world: World, big: int, appends: int) -> None:
    """Measure all that is done with large sessions, and what the server needs for it."""
    growing = [_written(world, number, _BIG if number else 20_000) for number in range(big + 1)]
    growing[0].append()  # what is looked for is in one session
    world.once()
    with _served(world, report) as process:
        process.weighed("at the start")
        _paging(report, process, growing[1])
        _searched(report, process)
        with _chromium(report, process.server) as browser:
            if browser is not None:
                _painted(report, process, browser, growing[1:])
                _seen(report, browser, growing[0], appends, "a small session")
                _seen(report, browser, growing[1], appends, "one of 10 MB")
        process.weighed("after Chromium, with the index")
        asyncio.run(_viewed(report, process, growing[1]))
        process.weighed(f"after {2 * _VIEWERS} viewers")


def _many(report: Report, world: World, sessions: int) -> None:
    """Measure lists of many sessions: recorded ones, and the same in a katod that has recorded none."""
    fill(world.home, sessions)
    paths = sorted(world.home.glob(".c*/**/*.jsonl"))
    changed = {path: path.stat().st_mtime_ns for path in paths}
    for number, path in enumerate(paths):
        _begin(path, generate.AGENTS["codex" if ".codex" in path.parts else "claude"](300_000 + number))
    world.once()
    for path, changed_ns in changed.items():
        os.utime(path, ns=(changed_ns, changed_ns))
    for mode in ("recorded", "all"):
        with _served(world, report) as process:
            _lists(report, process, mode)
            process.weighed(f"after the lists, {mode}")
        world.variables["KATOD_STATE_DIR"] = str(world.home / "other")
        world.configure(sessions="all")


def _written(world: World, number: int, size: int) -> Growing:
    """Write a session that is recorded from its end on."""
    agent = "codex" if number % 5 == 4 else "claude"
    path = session_path(world, generate.AGENTS[agent](seed=200_000 + number))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(generate.session(agent, size, seed=200_000 + number))
    _begin(path, generate.AGENTS[agent](400_000 + number))
    return Growing(path, generate.AGENTS[agent](500_000 + number))


def _begin(path: Path, made: generate.Session) -> None:
    with path.open("ab") as file:
        file.write(generate.lines(made.asked("::start\nRecord this.") + made.said("It is recorded.")))


def _name(growing: Growing) -> str:
    """Return the UUID of a session."""
    agent = "codex" if ".codex" in growing.path.parts else "claude"
    return session_uuid(SessionKey(agent, growing.path.stem[-36:]))


@contextmanager
def _served(world: World, report: Report) -> Iterator[Process]:
    began = time.perf_counter()
    with Served(world, fresh=True) as server:
        report.line("start until it answers", f"{(time.perf_counter() - began) * 1000:.0f}")
        yield Process(server, report)


@contextmanager
def _chromium(report: Report, server: Served) -> Iterator[Browser | None]:
    """Yield a browser that was let in, None if there is none here."""
    try:
        with browsing(server) as browser:
            yield browser.enter()
    except pytest.skip.Exception as reason:
        report.note(f"not measured in Chromium: it {reason}")
        yield None


def _lists(report: Report, process: Process, mode: str) -> None:
    """Measure each list: the first time, again, and whenever the server has looked at all files anew."""
    for name, path in _LISTS.items():
        first = process.took(path)
        again = [process.took(path) for _ in range(9)]
        report.line(
            f"{name}, {mode}", f"first {first:.0f}, then {median(again):.0f}", (first, LISTED), (median(again), LISTED)
        )
    process.rests()  # by now, it has read what each session is about
    for choice in _CHOICES:
        took = median([process.took(f"/?{choice}") for _ in range(9)])
        report.line(f"/?{choice}, {mode}", f"{took:.0f}", (took, CHOSEN))
    time.sleep(_SWEEP)
    late = {}
    for name, path in _LISTS.items():
        time.sleep(_PAUSE)
        late[name] = process.took(path)
    what = ", ".join(f"{took:.0f}" for took in late.values())
    report.line(f"each after {_SWEEP:.0f} s of rest, {mode}", what, (max(late.values()), LISTED))


def _paging(report: Report, process: Process, growing: Growing) -> None:
    """Measure pages of 100 messages through a whole session, from either end."""
    path = f"/projects/{generate.CWD.replace('/', '%2F')}/sessions/{_name(growing)}/messages?limit=100"
    for order, way in (("asc", "after"), ("desc", "before")):
        waits: list[float] = []
        cursor: str | None = ""
        while cursor is not None:
            began = time.perf_counter()
            paging = json.loads(process.text(f"{path}&order={order}{cursor}"))["pagination"]
            waits.append((time.perf_counter() - began) * 1000)
            cursor = f"&{way}={paging['nextCursor']}" if paging["hasMore"] else None
        figure = (
            f"first {waits[0]:.0f}, mean {fmean(waits):.0f}, most {max(waits):.0f}, {sum(waits) / 1000:.1f} s in all"
        )
        report.line(f"{len(waits)} pages of 10 MB, {order}", figure, (median(waits), PAGE))
    process.weighed("after the pages")


def _searched(report: Report, process: Process) -> None:
    """Measure searches before there is an index, and with it: for words that are in all sessions, and in one."""
    for name, query in (("everywhere", "cursor+token"), ("in one session", _RARE)):
        report.line(f"first search, words {name}", f"{process.took(f'/find?q={query}'):.0f}")
    process.weighed("after a search")
    time.sleep(_QUIET_SESSIONS)
    process.took(f"/find?q={_RARE}")
    process.rests()
    for name, query in (("everywhere", "cursor+token"), ("in one session", _RARE)):
        took = median([process.took(f"/find?q={query}") for _ in range(3)])
        report.line(f"search with the index, words {name}", f"{took:.0f}")
    process.weighed("with the index")


def _painted(report: Report, process: Process, browser: Browser, growing: list[Growing]) -> None:
    """Measure how soon something of a session can be seen, and all of it."""
    paints, wholes = [], []
    for one in growing[:5]:
        browser.open(f"/s/{_name(one)}")
        paint, whole, count = until(lambda: browser.run(_TIMING), "the whole page", 120)
        assert count > 1000, count
        paints.append(paint)
        wholes.append(whole)
    report.line("first paint of 10 MB", f"{_middle(paints)}; {len(paints)} sessions", (max(paints), PAINTED))
    report.line("all of 10 MB", _middle(wholes))
    process.rests()
    process.weighed("after sessions of 10 MB in Chromium")


def _seen(report: Report, browser: Browser, growing: Growing, appends: int, what: str) -> None:
    """Measure from each append to the frame in which it was painted."""
    browser.open(f"/s/{_name(growing)}")
    until(lambda: browser.run(_TIMING), "the whole page", 120)
    browser.run(_WATCH)
    growing.append()
    until(lambda: browser.run("return Object.keys(window.seen).length"), "the first message", 30)
    random, begun = Random(1), {}
    for _ in range(appends):
        time.sleep(random.uniform(0.05, 0.25))
        number = growing.count
        begun[str(number)] = growing.append()
    last = str(growing.count - 1)
    until(lambda: browser.run("return window.seen[arguments[0]]", last), "the last message", 30)
    seen = browser.run("return window.seen")
    waits = [(seen.get(number, float("inf")) - at) * 1000 for number, at in begun.items()]
    half, late = median(waits), percentile(waits, 0.99)
    figure = f"median {half:.0f}, p99 {late:.0f}, most {max(waits):.0f}; {len(waits)}"
    report.line(f"append until painted, {what}", figure, (half, SEEN))


async def _viewed(report: Report, process: Process, growing: Growing) -> None:
    """Have viewers of two kinds look at a session while it grows: each is to have each message once, in order."""
    server, name, begun = process.server, _name(growing), set[int]()
    last = re.findall(r'data-last="([^"]*)"', process.text(f"/s/{name}"))[-1]
    looks = [_socket(server, name, begun) for _ in range(_VIEWERS)]
    looks += [_page(server, name, last, begun) for _ in range(_VIEWERS)]
    tasks = [asyncio.create_task(look) for look in looks]
    await asyncio.to_thread(until, lambda: len(begun) == len(tasks), "all viewers", 120)
    sent = {}
    for _ in range(_MESSAGES):
        await asyncio.sleep(0.05)
        number = growing.count
        sent[number] = growing.append()
    found = await asyncio.gather(*tasks)
    process.weighed(f"with {len(tasks)} viewers")
    whole = sum(list(one) == list(sent) for one in found)
    waits = [(one[number] - at) * 1000 for one in found for number, at in sent.items() if number in one]
    figure = f"{whole} have all {len(sent)} once; median {median(waits):.0f}, p99 {percentile(waits, 0.99):.0f}"
    report.line(f"{len(tasks)} viewers of one session", figure, (float(whole), Bar(len(tasks), least=True)))


async def _socket(server: Served, name: str, begun: set[int]) -> dict[int, float]:
    """Return when each message arrived at a client of CodingBridge."""
    found: dict[int, float] = {}
    async with server.client() as client:
        await client.start(name, generate.CWD)
        begun.add(id(found))
        while len(found) < _MESSAGES:
            _note(found, json.dumps(await client.hear()))
    return found


async def _page(server: Served, name: str, last: str, begun: set[int]) -> dict[int, float]:
    """Return when each message arrived at an open page, which has all up to the last event."""
    found: dict[int, float] = {}
    address = f"{server.base}/s/{name}/live?after={last}"
    async with (
        httpx.AsyncClient(timeout=120) as client,
        client.stream("GET", address, headers=server.headers) as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith("event: about"):  # what is said is sent from now on
                begun.add(id(found))
            _note(found, line)
            if len(found) >= _MESSAGES:
                break
    return found


def _note(found: dict[int, float], text: str) -> None:
    """Note when a message arrived, by its number; one that comes twice is noted as another."""
    if said := _MARKER.search(text):
        number = int(said[1])
        found[number if number not in found else -number] = time.time()


def _middle(values: list[float]) -> str:
    return f"median {median(values):.0f}, most {max(values):.0f}"
