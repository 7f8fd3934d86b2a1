"""Errors: one complete line, without text from outside katod."""

import pytest

from katod.errors import KatodError, SourceError, safe_message


def test_an_error_is_one_line_that_names_its_file():
    """The path comes first, if there is one; the hint is not part of the line."""
    assert str(KatodError("is closed", path="/a", hint="open it")) == "/a: is closed"
    assert KatodError("is closed", hint="open it").hint == "open it"
    assert str(SourceError("is closed")) == "is closed"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(28, "No space left on device", "/a/secret"), "No space left on device"),
        (ValueError("secret"), "ValueError"),
        (OSError("secret"), "OSError"),
        (KeyError("secret"), "KeyError"),
    ],
)
def test_of_a_foreign_error_only_what_the_machine_says_is_shown(error, text):
    """Only the system's message is shown, as messages of libraries may contain session content."""
    assert safe_message(error) == text
