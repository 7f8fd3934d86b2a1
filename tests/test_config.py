"""The configuration: every key, its type, and the message for each mistake."""

import ast
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from katod import config
from katod.agents import AGENTS
from katod.config import AgentSettings, Settings, config_path, load, parse_settings, state_path
from katod.errors import ConfigError, KatodError
from tests.looping import each
from tests.modules import modules

FILE = Path("katod.toml")
REFERENCE = Path(__file__).parent.parent / "config" / "katod.toml"

# section, key, a value as TOML, the value as it is read
KEYS = [
    ("prices", "source", '"none"', "none"),
    ("prices", "source", '"~/prices.json"', "~/prices.json"),
    ("output", "directory", '"/srv/chats"', "/srv/chats"),
    ("output", "filename", '"{agent}/{session}"', "{agent}/{session}"),
    ("output", "format", '"jsonl"', "jsonl"),
    ("output", "allowed_roots", '["~/notes", "/srv"]', ("~/notes", "/srv")),
    ("output", "time_zone", '"Asia/Tokyo"', "Asia/Tokyo"),
    ("recording", "auto", "true", True),
    ("recording", "auto", '["~/work/*"]', ("~/work/*",)),
    ("recording", "exclude", '["~/secret"]', ("~/secret",)),
    ("recording", "subagents", "true", True),
    ("recording", "rescue", "true", True),
    ("recording", "rescue_redact", "false", False),
    ("recording", "notify", "true", True),
    ("recording", "notify", '"auto"', "auto"),
    ("content", "thinking", "true", True),
    ("content", "tools", '"full"', "full"),
    ("content", "tools", '"none"', "none"),
    ("content", "attachments", '"name"', "name"),
    ("content", "max_result", "0", 0),
    ("content", "usage", "true", True),
    ("content", "subagent_reports", "true", True),
    ("content", "redact", "false", False),
    ("watch", "use_events", "false", False),
    ("matrix", "homeserver", '"https://matrix.example.org"', "https://matrix.example.org"),
    ("matrix", "homeserver", '"https://example.org:8448/"', "https://example.org:8448/"),
    ("matrix", "homeserver", '"http://127.0.0.1:8008"', "http://127.0.0.1:8008"),
    ("matrix", "homeserver", '"http://[::1]:8008"', "http://[::1]:8008"),
    ("otlp", "endpoint", '"http://127.0.0.1:4318"', "http://127.0.0.1:4318"),
    ("otlp", "endpoint", '"https://example.org/api/public/otel/"', "https://example.org/api/public/otel/"),
    ("otlp", "headers_file", '"~/headers"', "~/headers"),
    ("otlp", "content", "true", True),
    ("matrix", "token_file", '"~/token"', "~/token"),
    ("matrix", "room", '"!abc:example.org"', "!abc:example.org"),
    ("serve", "host", '"::1"', "::1"),
    ("serve", "port", "0", 0),
    ("serve", "token_file", '"~/token"', "~/token"),
    ("serve", "origins", '["https://laptop.example.net:8443"]', ("https://laptop.example.net:8443",)),
    ("serve", "origins", '["http://127.0.0.1:3200"]', ("http://127.0.0.1:3200",)),
    ("serve", "sessions", '"all"', "all"),
    ("serve", "bridge_open", "true", True),
    ("archive", "machine", '"laptop-2"', "laptop-2"),
    ("archive", "folders", '["~/shared", "/srv/chats"]', ("~/shared", "/srv/chats")),
    ("log", "level", '"debug"', "debug"),
    ("log", "level", '"error"', "error"),
]


def read(text):
    return parse_settings(text.encode(), FILE)


def mistake(text):
    with pytest.raises(ConfigError) as caught:
        read(text)
    return caught.value


def leaves(settings):
    """Yield every setting with its dotted name."""
    for name, value in settings._asdict().items():
        if hasattr(value, "_fields"):
            yield from ((f"{name}.{key}", inner) for key, inner in leaves(value))
        elif isinstance(value, Mapping):
            yield from ((f"{name}.{key}.{n}", v) for key, one in value.items() for n, v in leaves(one))
        else:
            yield name, value


# -- values ------------------------------------------------------------------------------------------


def test_reference_file_holds_every_key_at_its_default():
    """The commented file that ships is complete, and changes nothing."""
    assert parse_settings(REFERENCE.read_bytes(), REFERENCE) == Settings()
    tree = tomllib.loads(REFERENCE.read_text())
    agents = tree.pop("agents")
    flat = {f"{table}.{key}" for table, keys in tree.items() for key in keys}
    flat |= {f"agents.{agent}.{key}" for agent, keys in agents.items() for key in keys}
    assert flat == {name for name, _ in leaves(Settings())}


def test_reference_file_explains_every_key():
    """Each key has an explanation above it, or above the first key of its table."""
    before = ""
    for line in REFERENCE.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            assert before.startswith(("#", "[")), line
        before = line


@pytest.mark.parametrize("text", ["", "# nothing\n", "[output]\n", "[agents]\n[agents.codex]\n"])
def test_every_key_is_optional(text):
    """A key that is not set has its default."""
    assert read(text) == Settings()


def test_a_byte_order_mark_says_nothing():
    """Some editors begin a file with one; where the file is wrong, lines count as they are shown."""
    for text in ("[recording]\nauto = true\n", "recording.auto = true\n"):
        assert read(f"\ufeff{text}") == read(text)
    with pytest.raises(ConfigError, match="line 1: unknown key `recordin`"):
        read("\ufeff[recordin]\n")


@each(("table", "key", "text", "value"), KEYS)
def test_every_key_can_be_set(table, key, text, value):
    """A key takes its value and leaves all others as they are."""
    name = f"{table}.{key}"
    assert dict(leaves(read(f"[{table}]\n{key} = {text}\n"))) == dict(leaves(Settings())) | {name: value}


def test_table_of_keys_is_complete():
    """Every key is in the table."""
    assert {f"{table}.{key}" for table, key, _, _ in KEYS} == {
        n for n, _ in leaves(Settings()) if not n.startswith("agents.")
    }


@each("agent", AGENTS)
def test_every_agent_can_be_set(agent):
    """One agent's settings leave the others at their defaults."""
    settings = read(f'[agents.{agent}]\nenabled = false\nroots = ["/a"]\n')
    assert settings.agents == {name: AgentSettings() for name in AGENTS} | {
        agent: AgentSettings(enabled=False, roots=("/a",))
    }


# -- mistakes ----------------------------------------------------------------------------------------


@each(
    ("text", "line", "key", "near"),
    [
        ("[output]\n\ndirectry = 'x'\n", 3, "output.directry", "directory"),
        ("# a\n[recording]\nautos = true\n", 3, "recording.autos", "auto"),
        ("[content]\nthinking = true\ntool = 'full'\n", 3, "content.tool", "tools"),
        ("[ouput]\ndirectory = '/x'\n", 1, "ouput", "output"),
        ("[agents.claud]\nenabled = true\n", 1, "agents.claud", "claude"),
        ("[agents.codex]\nroot = []\n", 2, "agents.codex.root", "roots"),
        ("output.formats = 'x'\n", 1, "output.formats", "format"),
        ("level = 'info'\n", 1, "level", ""),
        ("[log]\nlevel = 'info'\n[watch]\nlevel = 'info'\n", 4, "watch.level", ""),
        ('[content]\n"redcat" = true\n', 2, "content.redcat", "redact"),
    ],
)
def test_unknown_key_is_named_with_its_line_and_the_nearest_key(text, line, key, near):
    """The error for a misspelt key names its line and the key that was probably meant."""
    error = mistake(text)
    assert str(error) == f"katod.toml: line {line}: unknown key `{key}`"
    assert not near or error.hint == f"did you mean `{near}`?"


def test_key_like_no_other_gets_the_list():
    """If no known key is similar, all keys known there are listed."""
    assert mistake("[watch]\nxyzzy = 1\n").hint == "expected one of: use_events"


@each(
    ("table", "key", "value", "said"),
    [
        ("output", "directory", "5", "a string"),
        ("output", "directory", '["/x"]', "a string"),
        ("output", "format", '"html"', "one of markdown, jsonl"),
        ("output", "format", "5", "one of markdown, jsonl"),
        ("output", "allowed_roots", '"/x"', "a list of strings"),
        ("output", "allowed_roots", "[5]", "a list of strings"),
        ("output", "time_zone", "1", "a string"),
        ("recording", "auto", "1", "true or false"),
        ("recording", "auto", '"yes"', "list"),
        ("recording", "auto", "[true]", "a list of strings"),
        ("recording", "exclude", "true", "a list of strings"),
        ("recording", "subagents", '"yes"', "true or false"),
        ("content", "thinking", "1", "true or false"),
        ("content", "tools", "true", "one of auto, none, summary, full"),
        ("content", "attachments", '"link"', "one of save, name"),
        ("content", "redact", '"false"', "true or false"),
        ("content", "max_result", "-1", "a number, 0 or more"),
        ("content", "max_result", "true", "a number, 0 or more"),
        ("content", "max_result", '"all"', "a number, 0 or more"),
        ("watch", "use_events", "0", "true or false"),
        ("log", "level", '"loud"', "one of debug, info, warning, error"),
        ("agents.claude", "enabled", '"no"', "true or false"),
        ("agents.claude", "roots", '"~/x"', "a list of strings"),
        # beyond the types
        ("output", "directory", '"chats"', "absolute"),
        ("output", "directory", '""', "absolute"),
        ("output", "directory", '"~me/chats"', "absolute"),
        ("output", "allowed_roots", '["notes"]', "absolute"),
        ("agents.claude", "roots", '["~nobody/x"]', "absolute"),
        ("recording", "exclude", '["~nobody/x"]', "whole paths"),
        ("recording", "exclude", '["secret"]', "whole paths"),
        ("recording", "auto", '["~nobody/x"]', "whole paths"),
        ("output", "time_zone", '"Mars/Olympus"', "IANA"),
        ("output", "time_zone", '""', "IANA"),
        ("matrix", "homeserver", '"http://matrix.example.org"', "https"),
        ("matrix", "homeserver", '"http://127.0.0.1.example.org"', "https"),
        ("matrix", "homeserver", '"matrix.example.org"', "address of a server"),
        ("matrix", "homeserver", '"https://me:word@example.org"', "address of a server"),
        ("matrix", "homeserver", '"https://example.org/_matrix"', "address of a server"),
        ("matrix", "homeserver", '"https://example.org?a=b"', "address of a server"),
        ("otlp", "endpoint", '"http://otlp.example.org"', "https"),
        ("otlp", "endpoint", '"https://me:word@example.org"', "address of a collector"),
        ("otlp", "endpoint", '"https://example.org/v1?key=word"', "address of a collector"),
        ("otlp", "headers_file", '"headers"', "absolute"),
        ("matrix", "token_file", '"token"', "absolute"),
        ("matrix", "room", '"#alias:example.org"', "id of a room"),
        ("matrix", "room", '"! :example.org"', "id of a room"),
        ("serve", "port", "65536", "at most"),
        ("serve", "host", '"http://localhost"', "address"),
        ("serve", "token_file", '"token"', "absolute"),
        ("prices", "source", '"prices.json"', "absolute"),
        ("serve", "origins", '["http://laptop.example.net"]', "addresses like"),
        ("serve", "origins", '["https://laptop.example.net/"]', "addresses like"),
        ("serve", "origins", '["https://laptop.example.net:443"]', "addresses like"),
        ("output", "filename", '"{titel}"', "{titel}"),
        ("output", "filename", '"{title"', "not a valid template"),
        ("output", "filename", '"{0}"', "{0}"),
        ("output", "filename", '"{}"', "template"),
        ("output", "filename", '"{title.__class__}"', "{title.__class__}"),
        ("output", "filename", '"{date:%Y}/{title}"', "date"),
        ("output", "filename", '"{title:{session}}"', "title"),
        ("output", "filename", '"{title!x}"', "title"),
    ],
)
def test_wrong_value_is_named_with_its_line_and_what_is_taken(table, key, value, said):
    """The error for a value of the wrong type or meaning names its line and the accepted values."""
    error = mistake(f"# settings\n[{table}]\n{key} = {value}\n")
    assert str(error).startswith(f"katod.toml: line 3: `{table}.{key}` ")
    assert said in str(error)


@pytest.mark.parametrize(
    "text", ["output = 5\n", "output = []\n", "agents = true\n", "[agents]\nclaude = true\n", "[[output]]\n"]
)
def test_value_in_the_place_of_a_table_is_named(text):
    """A value in place of a table is reported."""
    assert "must be a table" in str(mistake(text))


@pytest.mark.parametrize("data", [b"[output", b"a = ", b"\xff\xfe", b"[output]\nformat = 'x'\nformat = 'y'\n"])
def test_what_is_no_toml_names_the_file(data):
    """The error for invalid TOML names the file and the parser's reason."""
    with pytest.raises(ConfigError, match="not valid TOML") as caught:
        parse_settings(data, Path("/etc/katod.toml"))
    assert str(caught.value).startswith("/etc/katod.toml: ")


# -- where things are ----------------------------------------------------------------------------------


def test_missing_file_means_defaults(tmp_path):
    """Without a file everything has its default, unless a file was named."""
    assert load(tmp_path / "katod.toml") == Settings()
    with pytest.raises(ConfigError, match="no such file") as caught:
        load(tmp_path / "katod.toml", required=True)
    assert "config init" in caught.value.hint


def test_file_that_cannot_be_read_is_named(tmp_path):
    """A directory in place of the file is an error, and the defaults are not used."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.fault("file that never ends or waits")
def test_a_configuration_that_never_ends_is_refused(tmp_path):
    """A FIFO, a device, or nested arrays without end in place of the file give one error, and nothing waits."""
    path = tmp_path / "katod.toml"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        load(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="not a regular file"):
        load(path)
    path.unlink()
    path.write_bytes(b"# x\n" * 300_000)
    with pytest.raises(ConfigError, match="larger than"):
        load(path)
    path.write_bytes(b"a = " + b"[" * 200_000)
    with pytest.raises(ConfigError, match="nested too deeply"):
        load(path)


def test_file_is_read(tmp_path):
    """The values in the file are used."""
    (tmp_path / "katod.toml").write_text("[content]\nthinking = true\n")
    assert load(tmp_path / "katod.toml").content.thinking


def test_configuration_is_found_where_it_was_named(monkeypatch):
    """The option takes precedence over the variable, and the variable over the platform's directory."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("KATOD_CONFIG", "~/a.toml")
    assert config.config_path(Path("~/b.toml")) == Path("/home/me/b.toml")
    assert config.config_path() == Path("/home/me/a.toml")
    monkeypatch.delenv("KATOD_CONFIG")
    assert config.config_path().parts[-2:] == ("katod", "katod.toml")


def test_state_directory_can_be_moved(monkeypatch):
    """The variable takes precedence over the platform's directory."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("KATOD_STATE_DIR", "~/state")
    assert config.state_path() == Path("/home/me/state")
    monkeypatch.delenv("KATOD_STATE_DIR")
    assert config.state_path().name == "katod"


SECTIONS = set(Settings._fields)
DEFINING = {"katod.config", "katod.destinations"}  # the classes of sections
CLASSES = {section: type(value).__name__ for section, value in Settings()._asdict().items()}


def every_key():
    """Yield each section with each of its keys."""
    for section, value in Settings()._asdict().items():
        keys = AgentSettings._fields if section == "agents" else value._fields
        yield from ((section, key) for key in keys)


def section_of(node):
    """Return the section that an expression such as `self._settings.now.output` is, an empty string for any other."""
    found = re.search(r"(?:settings|settings\(\)|now)\.(\w+)(?:\.\w+\(.*\)|\[.*\])?$", ast.unparse(node))
    return found[1] if found and found[1] in SECTIONS else ""


def named_sections(module):
    """Yield each name that stands for a section in a module: it is assigned to it, or of its class."""
    for node in module.nodes:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            yield from (
                (target, section_of(value)) for target, value in zip(node.targets[0].elts, node.value.elts, strict=True)
            )
        elif isinstance(node, ast.Assign):
            yield node.targets[0], section_of(node.value)
        elif isinstance(node, ast.For):
            yield (node.target.elts[-1] if isinstance(node.target, ast.Tuple) else node.target), section_of(node.iter)
        elif isinstance(node, ast.NamedExpr):
            yield node.target, section_of(node.value)
        elif isinstance(node, ast.arg) and node.annotation is not None and DEFINING & module.imported:
            kind = ast.unparse(node.annotation).rpartition(".")[2]
            yield ast.Name(node.arg), next((name for name, known in CLASSES.items() if known == kind), "")


def keys_that_are_read():
    """Yield each section and key that some module besides the configuration's own reads."""
    for module in modules().values():
        if module.name != "katod.config":
            known = {ast.unparse(target): section for target, section in named_sections(module) if section}
            for node in module.nodes:
                if isinstance(node, ast.Attribute):
                    yield known.get(ast.unparse(node.value)) or section_of(node.value), node.attr


@pytest.mark.form
def test_every_key_is_read():
    """Each key is read somewhere: one that nothing reads would be accepted, documented, and without effect."""
    assert set(every_key()) - set(keys_that_are_read()) == set()


@pytest.mark.parametrize(
    ("variable", "read_path"), [("KATOD_STATE_DIR", state_path), ("KATOD_DATA_DIR", config.data_path)]
)
def test_a_relative_directory_is_refused(monkeypatch, variable, read_path):
    """It would be another one for the service, and for each command that runs elsewhere."""
    monkeypatch.setenv(variable, "st")
    with pytest.raises(KatodError, match=f"^st: `{variable}` must be an absolute path, or start with ~/$"):
        read_path()


@each(
    ("text", "problem"),
    [
        ("[content]\nmax_result = 99999999999999999999999", "must be at most 1000000000"),
        ('[output]\ndirectory = "/a\\u0000b"', "must not contain the control character NUL"),
        ('[agents.claude]\nroots = ["/a", "/a\\u0000b"]', "must not contain the control character NUL"),
        ('[archive]\nfolders = ["/a\\u0000b"]', "must not contain the control character NUL"),
        ('[otlp]\nheaders_file = "/a\\u0000b"', "must not contain the control character NUL"),
        ('[output]\nfilename = "{title:.20}"', r"gives \{title\} a format or a conversion, which it cannot have"),
        ('[output]\nfilename = "{title!s}"', r"gives \{title\} a format or a conversion, which it cannot have"),
    ],
)
def test_values_that_nothing_can_be_done_with_are_refused(text, problem):
    """They would stop all recording, or end commands with a traceback."""
    assert re.search(f"line 2: `[a-z._]+` {problem}", str(mistake(text)))


def test_a_state_directory_of_an_unknown_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of that name, wherever one stands, would be another state each time."""
    monkeypatch.setenv("KATOD_STATE_DIR", "~nobody1/state")
    with pytest.raises(KatodError, match=r"^~nobody1/state: begins with a home directory that cannot be found$"):
        state_path()
    with pytest.raises(KatodError):
        config_path(Path("~nobody1/katod.toml"))
