"""News of recordings: what they say, and what they are about."""

from pathlib import Path

from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.news import News
from katod.states import Activity, Need, State
from katod.store.rows import OutputRow
from tests.looping import each

HEAD = {"key": ["claude", "1", ""], "metadata": {"cwd": "/home/me/shop", "title": "login page"}}
ROW = OutputRow(0, 1, Path("/out"), Path("/out/login-page.md"), "markdown", 1, Options(), HEAD)


@each(
    ("news", "headline"),
    [
        (News("recording"), "katod: recording"),
        (News("near miss"), "katod: near miss"),
        (News("blocked", says="Codex waits for your answer"), "Codex waits for your answer"),
    ],
)
def test_a_headline_is_what_an_agent_does_or_what_happened(news, headline):
    """If an agent did something, that is the headline; otherwise it names what happened, and that katod says so."""
    assert news.headline == headline
    assert (news.project, news.title, news.path, news.what) == ("", "", None, "")


def test_news_of_a_recording_have_its_project_title_and_file():
    """The person finds the recording by them."""
    assert News.of("stopped", ROW, "why") == News("stopped", "shop", "login page", Path("/out/login-page.md"), "why")


def test_a_recording_that_waits_for_its_name_has_no_file_and_no_title_yet():
    """Neither is known before the words that name it."""
    assert News.of("waiting", ROW._replace(held={"text": "", "time": ""})) == News("waiting", "shop")


@each(
    ("doing", "news"),
    [
        (Activity(State.BLOCKED, need=Need("question")), News("blocked", says="Claude Code waits for your answer")),
        (Activity(State.DONE), News("done", says="Claude Code is done")),
        (
            Activity(State.DONE, is_quiet=True),
            News("done", what="it is done, or a tool is still running", says="Claude Code has been quiet for a while"),
        ),
    ],
)
def test_news_of_what_a_session_does_name_its_agent(doing, news):
    """That it waits for the person, is done, or may be."""
    assert News.of_state(doing, ROW) == News.of(news.kind, ROW, news.what)._replace(says=news.says)


def test_news_of_a_session_without_a_recording_have_its_project():
    """There is no file to show."""
    metadata = SessionMetadata(SessionKey("claude", "1"), {"cwd": "/home/me/shop", "title": "login page"})
    assert News.about("refused", metadata, "why") == News("refused", "shop", what="why")
