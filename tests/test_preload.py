"""What a process that runs for weeks loads at its start."""

import inspect
import subprocess
import sys

import pytest

from katod.agents import AGENTS
from katod.agents.spec import LATER, load
from katod.formatspec import FORMATS

# How many arguments each function that is loaded later is called with, by the field of the description that names it.
TAKEN = {
    "reported": 3, "runs": 3, "retention": 1, "changed": 2, "sessions_in": 1, "sessions_holding": 2,
    "open_chat": 1, "open_session": 1, "open_source": 1, "client_in_folder": 4, "client_with_file": 4,
    "name_of": 2, "open_usage": 1, "beside": 1, "put_back": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(LATER)))
def test_what_is_loaded_later_exists_and_takes_what_it_is_given(name):
    """The names are texts, which no type checker reads."""
    function = load(name)
    inspect.signature(function).bind(*[object()] * TAKEN[name.rpartition(".")[2]])


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_every_adapter_can_be_loaded(agent):
    """Its name is a text, too."""
    assert AGENTS[agent].adapter.__module__ == f"katod.agents.{AGENTS[agent].adapter_name.rpartition('.')[0]}"


@pytest.mark.slow
def test_a_daemon_loads_everything_at_its_start(world):
    """After an update, it must not load new modules beside its old ones."""
    code = "import sys; from katod.preload import preload; preload(); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], env=world.environment, capture_output=True, check=True)
    loaded = done.stdout.decode().split()
    named = {f"katod.{name.rpartition('.')[0]}" for name in LATER}
    adapters = {f"katod.agents.{spec.adapter_name.rpartition('.')[0]}" for spec in AGENTS.values()}
    printers = {f"katod.formats.{spec.printer.rpartition('.')[0]}" for spec in FORMATS.values()}
    assert named | adapters | printers | {"katod.formats.redact.engine"} <= set(loaded)
