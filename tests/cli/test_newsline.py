"""The lines that `katod run` prints on a terminal."""

from pathlib import Path

import pytest

from katod.cli.newsline import news_line
from katod.record.news import News

PATH = Path("/home/me/katod/shop/login-page.md")


@pytest.mark.parametrize(
    ("news", "expected"),
    [
        (
            News("recording", "shop", "login page", PATH),
            '23:18 ● recording shop · "login page" → ~/katod/shop/login-page.md',
        ),
        (
            News("stopped", "shop", "login page", PATH),
            '23:18 ■ stopped shop · "login page" → ~/katod/shop/login-page.md',
        ),
        (News("waiting", "shop"), "23:18 ○ recording shop: the file gets its name from the next words that you type"),
        (
            News("parked", "shop", "", PATH, "No space left"),
            "23:18 ! parked shop → ~/katod/shop/login-page.md: No space left",
        ),
        (News("refused", "shop", what="::start: outside"), "23:18 ! refused shop: ::start: outside"),
        (
            News("blocked", "shop", "login", PATH, says="Codex waits for your answer"),
            '23:18 ? Codex waits for your answer: shop · "login" → ~/katod/shop/login-page.md',
        ),
        (News("near miss", what="a misspelt ::start"), "23:18 ? not a command: a misspelt ::start"),
    ],
)
def test_each_kind_of_news_is_a_line(news, expected):
    """With the time, a sign, the project, the title in quotes and the file."""
    assert "".join(span.text for span in news_line(news, "23:18", "/home/me")) == expected
