"""Every fault test fails without its protection: each protection is removed in turn and its tests are run."""

from importlib import import_module

import pytest

from .bare import FAILED, SKIPPED, run_without
from .protections import PROTECTIONS, hook
from .table import collected, node

CASES = [pytest.param(p, test, id=f"{p.name}-{test.rpartition('/')[2]}") for p in PROTECTIONS for test in p.tests]


@pytest.mark.slow
@pytest.mark.parametrize(("protection", "test"), CASES)
def test_without_its_protection_a_test_fails(tmp_path, protection, test):
    """A test fails when katod lacks the function, so it would notice a regression."""
    code, said = run_without(protection, test, tmp_path)
    if code == SKIPPED:
        pytest.skip("the test cannot be run here")
    assert code == FAILED, said[-3000:]


@pytest.mark.form
def test_every_protection_is_a_function_of_katod():
    """Each entry names a replaceable function; a renamed or moved function must be updated here."""
    moved = [f"{entry.name}: {entry.function}" for entry in PROTECTIONS if not is_replaceable(entry)]
    assert not moved, "\n".join(moved)
    assert len({entry.name for entry in PROTECTIONS}) == len(PROTECTIONS)


def is_replaceable(protection):
    """Return whether the function exists and its replacement can be created."""
    module, _, name = protection.function.partition(":")
    try:
        holder, last = hook.holder_of(import_module(module), name)
        hook.replacement(vars(holder)[last], protection.without)
    except (ImportError, KeyError, AssertionError):
        return False
    return True


@pytest.mark.slow
def test_every_test_of_a_protection_shows_a_fault():
    """Each test that an entry names exists and is marked with the fault that it covers."""
    shown = {item.nodeid for item in collected()}
    known = shown | {node(item) for item in collected()} | {name.partition("::")[0] for name in shown}
    unknown = [f"{entry.name}: {test}" for entry in PROTECTIONS for test in entry.tests if test not in known]
    assert not unknown, "\n".join(unknown)


@pytest.mark.form
def test_every_test_of_a_fault_has_a_protection():
    """Every test in the table of faults is named by a protection."""
    covered = {test for protection in PROTECTIONS for test in protection.tests}
    shown = {node(item) for item in collected()}
    assert {test for test in shown if test not in covered and test.partition("::")[0] not in covered} == set()
