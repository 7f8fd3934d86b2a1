"""`katod rename`, `star` and `label`: what you say of a session, in your own words."""

from typing import Final

import click

from katod.cli.context import Context
from katod.cli.parameters import SESSION
from katod.cli.printing import say
from katod.cli.record import ask
from katod.cli.selection import select_known
from katod.errors import SelectionError
from katod.model import PersonalWord, SessionKey
from katod.record.personal import MOST_LABELS, labels_in
from katod.store.rows import PersonalRow

_LONGEST: Final = 10_000  # characters of a request: far more than is kept


@click.command()
@click.argument("session", type=SESSION)
@click.argument("title", nargs=-1)
@click.pass_obj
def rename(context: Context, session: str, title: tuple[str, ...]) -> None:
    """Give a session a title of your own.

    SESSION is a session id or the beginning of one, `agent:id`, the number or the file of a recording, or `latest`.
    Lists, searches, the page and exports call the session by TITLE, and so does a recording that you start later
    without a name. A file that exists keeps its name and its content. Without TITLE, katod removes your title.
    Secrets in it are redacted.
    """
    key = select_known(context, session)
    said = _said(context, key, "rename", " ".join(title))
    say(f"{key} is called {said.title!r}" if said.title else f"{_called(context, key)} has no title of yours")


@click.command()
@click.argument("session", type=SESSION)
@click.option("--remove", is_flag=True, help="Remove the star.")
@click.pass_obj
def star(context: Context, session: str, remove: bool) -> None:
    """Mark a session with a star.

    SESSION is a session id or the beginning of one, `agent:id`, the number or the file of a recording, or `latest`.
    `katod sessions --starred` lists the sessions with a star.
    """
    key = select_known(context, session)
    said = _said(context, key, "unstar" if remove else "star", "")
    say(f"{_called(context, key)} {'has a star' if said.starred else 'has no star'}")


@click.command()
@click.argument("session", type=SESSION)
@click.argument("words", nargs=-1, required=True, metavar="LABEL...")
@click.option("--remove", is_flag=True, help="Remove these labels.")
@click.pass_obj
def label(context: Context, session: str, words: tuple[str, ...], remove: bool) -> None:
    """Label a session with words of your own.

    SESSION is a session id or the beginning of one, `agent:id`, the number or the file of a recording, or `latest`.
    A label is one word, in lower case. `katod sessions --label LABEL` lists the sessions that have it, and exports and
    later recordings have it among their tags.
    """
    key = select_known(context, session)
    if not (wanted := labels_in(" ".join(words))):
        raise SelectionError("a label needs a letter or a digit")
    said = _said(context, key, "unlabel" if remove else "label", " ".join(words))
    labels = ", ".join(said.labels)
    say(f"{_called(context, key)} {f'has the labels {labels}' if labels else 'has no labels'}")
    if not remove and (left := [one for one in wanted if one not in said.labels]):
        what = f"a session has at most {MOST_LABELS} labels, so these were left out: {', '.join(left)}"
        raise SelectionError(what, hint="remove one with `katod label --remove`")


def _said(context: Context, key: SessionKey, word: PersonalWord, words: str) -> PersonalRow:
    """Have katod keep what is said of a session; return all of it. Raises KatodError."""
    ask(context, key, word, words[:_LONGEST].encode("utf-8", "replace").decode())
    with context.reading() as ledger:
        return ledger.personal.of(key) if ledger else PersonalRow(key)


def _called(context: Context, key: SessionKey) -> str:
    from katod.cli.sessionrow import called  # noqa: PLC0415 - it loads the translation

    return called(context, key)
