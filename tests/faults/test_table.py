"""The table of faults in README.md matches the test suite."""

import pytest

from .table import BEGIN, END, FAULTS, README, collected, faults_of, table

pytestmark = pytest.mark.form


def test_the_readme_holds_the_table():
    """README.md contains the table that `python -m tests.faults.table` generates."""
    content = README.read_text()
    assert content[content.index(BEGIN) + len(BEGIN) : content.index(END)] == table()


def test_every_fault_has_a_test():
    """Every fault in the table has a test, and every test's fault is in the table."""
    assert {name for item in collected() for name in faults_of(item)} == set(FAULTS)
