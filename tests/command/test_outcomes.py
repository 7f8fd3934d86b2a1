"""What lines, messages and names mean, as it is in a golden file."""

from tests.command.outcomes import GOLDEN, text


def test_commands_and_names_mean_what_the_golden_file_says() -> None:
    """Commands, near misses, pasted parts, paths that are written to, and reasons for a refusal."""
    now, was = text().splitlines(), GOLDEN.read_bytes().splitlines()
    assert now == was, "if meant: python -m tests.golden.update"
