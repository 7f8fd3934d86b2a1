"""Where agents keep their sessions."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents import AGENTS
from katod.config import AgentSettings, Settings
from katod.discover.roots import find_roots
from tests.examples import examples
from tests.support.world import World


def paths(agent: str) -> list[str]:
    """Return the roots of one agent, relative to the home directory if they are in it."""
    found = [root.path for root in find_roots(Settings(), AGENTS) if root.agent == agent]
    return [str(path).replace(str(Path.home().resolve()), "~") for path in found]


@pytest.mark.parametrize(
    ("agent", "variable", "value", "expected"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", "/x/c", ["/x/c"]),
        ("codex", "CODEX_HOME", "~/c", ["~/c"]),
        ("gemini", "GEMINI_CLI_HOME", "/x/g", ["/x/g/.gemini"]),
        ("opencode", "XDG_DATA_HOME", "/x/d", ["/x/d/opencode"]),
        ("opencode", "OPENCODE_DB", "/x/y/mine.db", ["~/.local/share/opencode", "/x/y"]),
        ("opencode", "OPENCODE_DB", "other.db", ["~/.local/share/opencode"]),
        ("opencode", "OPENCODE_DB", ":memory:", ["~/.local/share/opencode"]),
        ("cursor", "CURSOR_DATA_DIR", "/x/u", ["/x/u"]),
        ("zot", "ZOT_HOME", "/x/z", ["/x/z"]),
        ("zot", "XDG_STATE_HOME", "/x/s", ["/x/s/zot"]),
        ("copilot", "COPILOT_HOME", "/x/o", ["/x/o"]),
        ("pi", "PI_CODING_AGENT_DIR", "/x/p", ["/x/p"]),
        ("qwen", "QWEN_HOME", "/x/q", ["/x/q"]),
        ("qwen", "QWEN_RUNTIME_DIR", "/x/r", ["/x/r"]),
        ("kimi", "KIMI_CODE_HOME", "/x/k", ["/x/k"]),
        ("cline", "CLINE_DIR", "/x/l", ["/x/l/data/sessions"]),
        ("cline", "CLINE_DATA_DIR", "/x/l", ["/x/l/sessions"]),
        ("cline", "CLINE_SESSION_DATA_DIR", "/x/l", ["/x/l"]),
    ],
)
def test_an_agents_variable_moves_its_root(
    world: World, monkeypatch: pytest.MonkeyPatch, agent: str, variable: str, value: str, expected: list[str]
) -> None:
    """The variable moves the root just as it does for the agent itself."""
    monkeypatch.setenv(variable, value)
    assert paths(agent) == expected


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_has_a_root_and_can_be_switched_off(world: World, agent: str) -> None:
    """The configuration overrides the defaults."""
    assert paths(agent)
    off = Settings(agents={agent: AgentSettings(enabled=False)})
    assert find_roots(off, AGENTS) == []
    [root] = find_roots(Settings(agents={agent: AgentSettings(roots=("/x/own",))}), AGENTS)
    assert (root.agent, str(root.path)) == (agent, "/x/own")
    assert root.folders or root.above


def test_a_single_database_claims_nothing_beside_it() -> None:
    """A root that is a single database claims no other files: its folder may be the home directory."""
    settings = Settings(agents={"opencode": AgentSettings(roots=("/x/home/mine.db",))})
    [root] = find_roots(settings, AGENTS)
    assert (root.prefix, root.folders) == ("/x/home/mine.db#", ())
    [whole] = find_roots(Settings(agents={"opencode": AgentSettings(roots=("/x/home",))}), AGENTS)
    assert whole.prefix == "/x/home/"


NAMES = st.sampled_from(["a", "b", "c", "..", "a/b", "b/../c", "c/a/b"])


@examples(20, 500)
@given(st.dictionaries(NAMES, NAMES, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_roots_are_real_paths(links: dict[str, str], names: list[str]) -> None:
    """Whatever links there are, also in circles, a root is where its files are, as `os.path.realpath` says."""
    with TemporaryDirectory() as folder:
        for name, target in links.items():
            path = Path(os.path.normpath(f"{folder}/x/y/{name}"))
            with suppress(OSError):  # another link is in the way
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(target)
        given_roots = [f"{folder}/x/y/{name}" for name in names]
        found = find_roots(Settings(agents={"claude": AgentSettings(roots=tuple(given_roots))}), AGENTS)
        assert [str(root.path) for root in found] == list(dict.fromkeys(map(os.path.realpath, given_roots)))
