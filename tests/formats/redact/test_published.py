"""Secrets of published kinds are found, and look-alikes stay: a second measure, independent of `test_recall`."""

import random
import string
from collections import Counter

import pytest

from katod.formats.redact.mnemonic import words
from katod.formats.redact.redactor import redact
from tests.looping import each

from .published import cases

BARS = {"bare": 0.98, "named": 0.98, "terminal": 0.95}
ALL = 0.98
MOST_CHANGED = 0.005
CASES = cases()
SECRETS = tuple(case for case in CASES if case.secrets)
HARMLESS = tuple(case for case in CASES if not case.secrets)
# What a shell puts in place of these is the secret; they are none, and a command without them is another command.
STANDINS = ("$SECRET", "${SECRET}", "${SECRET:-x}", "$(cat /run/secrets/a1)", "$(pass show a/b2)")


@pytest.mark.slow
def test_secrets_of_published_kinds_are_found():
    """Of over 700 secrets of over 200 kinds, the bars are reached: alone, after names, in commands and files."""
    total = Counter(case.group for case in SECRETS)
    missed = [case for case in SECRETS if case.kept(redact(case.text))]
    lost = Counter(case.group for case in missed)
    print({group: f"{1 - lost[group] / number:.1%} of {number}" for group, number in total.items()})
    shown = "\n".join(f"{case.group}, {case.kind}: {case.text[:120]!r}" for case in missed)
    assert (len(SECRETS) >= 700, len({case.kind for case in SECRETS}) >= 200) == (True, True)
    assert len(missed) <= (1 - ALL) * len(SECRETS), shown
    assert [group for group, bar in BARS.items() if lost[group] > (1 - bar) * total[group]] == [], shown


def test_look_alikes_stay():
    """Of over 300 harmless texts, hardly any changes: hashes, ids, code, commands that fetch the secret."""
    changed = [(case.kind, case.text, redact(case.text)) for case in HARMLESS if redact(case.text) is not case.text]
    assert len(HARMLESS) >= 300
    assert len(changed) <= MOST_CHANGED * len(HARMLESS), changed


@pytest.mark.slow
@each("standin", STANDINS)
def test_what_a_shell_replaces_is_no_secret(standin):
    """Every command with a variable or a command's output in place of its secret stays as it is."""
    for case in SECRETS:
        if case.group == "terminal" and len(case.secrets) == 1:
            text = case.text.replace(case.secrets[0], standin)
            assert redact(text) == text, case.kind


@pytest.mark.slow
def test_a_second_redaction_changes_nothing():
    """What is left of a text with secrets contains none."""
    for case in CASES:
        done = redact(case.text)
        assert redact(done) is done, case.kind


def test_the_words_of_mnemonics_are_the_published_ones():
    """There are 2048 words, each known by its first four letters, as the standard says."""
    assert len(words()) == len({word[:4] for word in words()}) == 2048
    assert all(3 <= len(word) <= 8 and word.isalpha() and word.islower() for word in words())


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("FB_PAGE_TOKEN=", True), ("GITHUB_SYNC_TOKEN=", True), ("export START_TOKEN=", True), ("homepage_token=", True),
        ("repo_sync_token: ", True), ("next_page_token: ", False), ("nextPageToken: ", False), ("page_token=", False),
        ("--starting-token ", False), ("continuation_token = ", False),
    ],
)  # fmt: skip
def test_a_token_that_says_where_a_list_continues_is_none(name, is_secret):
    """That is all of its name; a longer one, and a variable in capitals, are those of a secret."""
    value = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=40))
    assert (value not in redact(f"{name}{value}\n")) is is_secret
