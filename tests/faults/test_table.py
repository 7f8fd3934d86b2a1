"""The table of faults in README.md is what the suite gives."""

from .table import BEGIN, END, FAULTS, README, collected, faults_of, table


def test_the_readme_holds_the_table():
    """It is written by `python -m tests.faults.table`, never by hand."""
    content = README.read_text()
    assert content[content.index(BEGIN) + len(BEGIN) : content.index(END)] == table()


def test_every_fault_has_a_test():
    """Nothing is promised that no test shows, and no test shows what the table does not name."""
    assert {name for item in collected() for name in faults_of(item)} == set(FAULTS)
