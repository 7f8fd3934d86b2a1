"""The work of which the costs are counted: events of sessions, and commands in a home with some of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.costs.counting import Cost, cost_of
from tests.support.records import MAKERS, Maker, OpenCode2, calls, result, says, user
from tests.support.world import World

TURNS: Final = 20
SAMPLED: Final = 60  # turns before them: enough for the sample that katod takes of each agent once an hour
SESSIONS: Final = 12  # in the home of the commands
# In the tables of OpenCode 2, what is read at once depends on the milliseconds of its rows.
STEADY: Final = tuple(make for make in MAKERS if make is not OpenCode2)
COMMANDS: Final = (
    "status", "sessions", "search ready", "search --all --limit 0 done", "show 00000001", "export 00000001 -o -", "verify",
)  # fmt: skip


def talk(maker: Maker, turns: int) -> None:
    """Go on with a session: a prompt, an answer, a call with its result, and another answer, so many times."""
    for _ in range(turns):
        number = len(maker.items)  # no text is there twice: a client that writes its history again says nothing new
        call, said = f"call-{number}", [says(f"{number} is in work"), says(f"{number} is ready")]
        maker.say(user(f"please fix {number}"), said[0], calls(call, f"make {number}"), result(call, "done"), said[1])


def of_events(home: Path, make: type[Maker], *, recorded: bool) -> Cost:
    """Return what forty turns cost that are found by one look at a session, beyond what twenty cost."""

    def grown(turns: int) -> Cost:
        world = World(home / f"{make.__name__}-{recorded}-{turns}")
        maker = make(world)
        maker.say(user("::start here" if recorded else "begin here"), says("begun"))
        talk(maker, SAMPLED)
        world.once()
        talk(maker, turns)
        return cost_of(world.home, world.once)

    return grown(2 * TURNS) - grown(TURNS)


def at_rest(home: Path) -> Cost:
    """Return what a start costs with twelve sessions that did not change, beyond what it costs with six."""

    def started(sessions: int) -> Cost:
        world = World(home / f"rest-{sessions}")
        for number in range(1, sessions + 1):
            maker = world.session(number)
            maker.say(user("::start here"), says("begun"))
            talk(maker, 2)
        world.once()
        return cost_of(world.home, world.once)

    return started(SESSIONS) - started(SESSIONS // 2)


def all_costs(home: Path) -> Iterator[tuple[str, Cost]]:
    """Yield what everything costs, with its name."""
    _load(home)
    for make in STEADY:
        yield f"{make.__name__}, {TURNS} turns, recorded", of_events(home, make, recorded=True)
        yield f"{make.__name__}, {TURNS} turns, not recorded", of_events(home, make, recorded=False)
    yield f"{SESSIONS // 2} sessions at rest", at_rest(home)
    world = _filled(World(home / "commands"), SESSIONS)
    for command in COMMANDS:
        yield f"katod {command}, {SESSIONS} sessions", cost_of(world.home, _run(world, command))


def _load(home: Path) -> None:
    """Load all that is loaded when it is needed: reading a module is no cost of the work."""
    world = _filled(World(home / "loaded"), 1)
    for command in COMMANDS:
        world.cli(*command.split())


def _filled(world: World, sessions: int) -> World:
    """Return a world with sessions of which the first and the last are recorded."""
    for number in range(1, sessions + 1):
        maker = world.session(number)
        maker.say(user("::start here" if number in (1, sessions) else "begin here"), says("begun"))
        talk(maker, TURNS)
    world.once()
    return world


def _run(world: World, command: str) -> Callable[[], str]:
    return lambda: world.cli(*command.split())
