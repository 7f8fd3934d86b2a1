"""The pages of what other machines share: shown as other sessions are, and only what was recorded, if that is served."""

import re

import pytest

from katod.archive.manifest import MANIFEST
from katod.errors import LedgerError
from katod.formats.stream.bridge import session_uuid
from katod.model import SessionKey
from katod.search.run import Search
from katod.serve.page import machines
from tests.looping import each
from tests.serve.test_app import run
from tests.support.machines import Machine
from tests.support.records import SESSION, Codex, CodexFlat, says, user

SECRET = "sk-ant-api03-" + "Ab3dE5gH7jK9mN1p" * 5


@pytest.fixture
def laptop(tmp_path):
    """Return a machine with a session of which the end is recorded, and one that is not recorded."""
    laptop = Machine("laptop", tmp_path)
    make = laptop.claude()
    make.say(user(f"the <b>lantern</b> {SECRET}"), says("It is blue."), user("::start\nthe basket"), says("It is red."))
    laptop.session(2, "codex").append(Codex().meta(), Codex().user("The umbrella of the shop"))
    laptop.once()
    laptop.share()
    return laptop


@pytest.fixture
def desktop(tmp_path, monkeypatch):
    return Machine("desktop", tmp_path, monkeypatch=monkeypatch)


def drop_events(laptop):
    """Leave what else a machine shares."""
    for path in laptop.part.rglob("*.jsonl"):
        if path.name != MANIFEST:
            path.unlink()
    lines = (laptop.part / MANIFEST).read_bytes().splitlines(keepends=True)
    (laptop.part / MANIFEST).write_bytes(b"".join(line for line in lines if b'"format":"jsonl"' not in line))


def pages(desktop, *addresses, **options):
    """Return the status and the text of pages."""

    async def ask(app):
        return [(answer.status, answer.body.decode()) for answer in [await app.ask(address) for address in addresses]]

    return run(desktop, ask, folders=(str(desktop.shared),), **options)


def links(text):
    return re.findall(r'href="(/machines/[^"]+)"', text)


def test_sessions_of_other_machines_are_listed_and_shown(laptop, desktop):
    """By machine, with their titles; the page has all of the conversation, without secrets and markup of others."""
    [(_, first), (status, listed)] = pages(desktop, "/", "/machines")
    assert 'href="/machines"' in first
    assert status == 200
    assert "<h2>laptop</h2>" in listed
    assert len(links(listed)) == 2
    every = [text for status, text in pages(desktop, *links(listed)) if status == 200]
    assert len(every) == 2
    [talk] = [text for text in every if "lantern" in text]
    assert all(words in talk for words in ("It is blue.", "the basket", "It is red.", 'href="/machines">laptop'))
    assert "<b>lantern" not in talk
    assert not any(SECRET in text for text in [listed, *every])
    assert talk.endswith("</html>\n")


def test_where_only_recordings_are_served_only_those_of_others_are(laptop, desktop):
    """Neither what was said before, nor a title of that; a session that was not recorded is not there."""
    [(_, listed)] = pages(desktop, "/machines", everything=False)
    [address] = links(listed)
    [(status, talk)] = pages(desktop, address, everything=False)
    assert (status, "It is red." in talk) == (200, True)
    assert not any(word in text for word in ("lantern", "blue", "umbrella") for text in (listed, talk))
    [(_, everything)] = pages(desktop, "/machines")
    [other] = set(links(everything)) - {address}
    assert pages(desktop, other, everything=False)[0][0] == 404


def found(text):
    """Return the addresses of the hits on other machines, and their words."""
    _, _, below = text.partition('id="elsewhere"')
    return re.findall(r'<li><a href="([^"]+)">(.*?)</a></li>', below)


def test_a_search_finds_what_other_machines_share(laptop, desktop):
    """Below what is found here; a hit leads to its message, and no secret is shown."""
    desktop.session(5).say(user("where is my lantern"), says("nowhere"))
    [(_, both), (_, there), (_, nothing)] = pages(desktop, "/find?q=lantern", "/find?q=basket", "/find?q=giraffe")
    assert both.index("where is my") < both.index("1 session on other machines") < both.index("/machines/laptop/")
    assert "<h1>1 session with lantern</h1>" in both
    assert "· laptop" in both
    assert SECRET not in both
    assert "<h1>Nothing found for basket on this machine</h1>" in there
    [(address, words)] = found(there)
    assert "<mark>basket</mark>" in words
    leads_to(desktop, address, "basket")
    assert "<h1>Nothing found for giraffe on this machine</h1>" in nothing
    assert "on other machines" not in nothing
    assert all(text.endswith("</html>\n") for text in (both, there, nothing))


def leads_to(desktop, address, words, **options):
    page, _, message = address.partition("#")
    [(status, talk)] = pages(desktop, page, **options)
    assert status == 200
    assert message
    assert words in talk[talk.index(f'id="{message}"') :]


def test_a_search_shows_the_day_alone_where_no_time_is_known(tmp_path, monkeypatch):
    """It is the day that the transcript says, whatever the zone of the machine is."""
    laptop, desktop = Machine("laptop", tmp_path), Machine("desktop", tmp_path, monkeypatch=monkeypatch)
    CodexFlat(laptop).say(user("where is my kettle"), says("in the kitchen"))
    laptop.share("markdown")
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    [(_, text)] = pages(desktop, "/find?q=kettle")
    assert re.findall("You ([-0-9: ]+)<", text) == ["2026-02-10"]


def test_a_search_among_chosen_sessions_stays_here(laptop, desktop):
    """No choice of the list says anything of other machines."""
    [(_, chosen)] = pages(desktop, "/find?q=basket&days=7")
    assert "<h1>Nothing found for basket in these sessions</h1>" in chosen


def test_where_only_recordings_are_served_nothing_else_is_found(laptop, desktop):
    """Not even that it is there."""
    addresses = [f"/find?q={word}" for word in ("basket", "lantern", "umbrella", "red")]
    basket, lantern, umbrella, red = [text for _, text in pages(desktop, *addresses, everything=False)]
    [(address, _)] = found(basket)
    leads_to(desktop, address, "the basket", everything=False)
    assert len(found(red)) == 1
    assert not found(lantern) + found(umbrella)
    assert "lantern" not in basket + red


@each(
    ("options", "wanted"),
    [
        ("", {"yellow"}),
        (" +thinking", {"green", "yellow"}),
        (" +tools", {"crimson", "violet", "yellow"}),
        (" +tools +thinking", {"crimson", "green", "violet", "yellow"}),
    ],
)
def test_a_recording_has_what_its_options_say(tmp_path, monkeypatch, options, wanted):
    """Thinking, and what was given to tools and came back, are found only where they were recorded."""
    folder = tmp_path / options.strip().replace("+", "")
    laptop = Machine("laptop", folder)
    make = laptop.claude()
    make.say(user(f"::start{options}\nyellow"))
    make.write(make.thinks("green"), make.runs("a", "echo crimson"), make.result("a", "violet"))
    laptop.once()
    laptop.share()
    desktop = Machine("desktop", folder, monkeypatch=monkeypatch)
    words = ("crimson", "green", "violet", "yellow")
    texts = pages(desktop, *(f"/find?q={word}" for word in words), everything=False)
    assert {word for word, (_, text) in zip(words, texts, strict=True) if found(text)} == wanted


def test_a_session_that_is_here_and_there_is_found_once(laptop, desktop):
    """Here."""
    desktop.claude().say(user("the basket"), says("It is red."))
    [(_, text)] = pages(desktop, "/find?q=basket")
    assert "<h1>1 session with basket</h1>" in text
    assert not found(text)


def test_a_session_that_is_not_shown_is_not_found(laptop, desktop):
    """Of which only a page of HTML is shared."""
    laptop.share("html")
    drop_events(laptop)
    [(_, text)] = pages(desktop, "/find?q=basket")
    assert not found(text)


def test_days_of_a_search_are_those_of_the_settings(laptop, desktop, monkeypatch):
    """Here and on other machines, in all sessions and in one."""
    zones = []
    own = Search.__init__
    monkeypatch.setattr(
        Search, "__init__", lambda self, query, terms, *more: zones.append(terms.zone) or own(self, query, terms, *more)
    )
    make = desktop.session(5)
    make.say(user("where is my lantern"), says("nowhere"))
    pages(desktop, "/find?q=lantern", f"/find?q=lantern&in={session_uuid(SessionKey('claude', make.session))}")
    assert zones == ["Europe/Berlin"] * 3


def test_a_search_says_what_it_could_not_read(laptop, desktop):
    """A file that is not the one of the list, where what was recorded of it matters; the others are searched."""
    [path] = [path for path in laptop.part.rglob("*.jsonl") if b"It is red." in path.read_bytes()]
    path.write_bytes(path.read_bytes() + b"\n")
    [(status, text)] = pages(desktop, "/find?q=basket", everything=False)
    assert status == 200
    assert "is not the file that the list describes" in text
    assert not found(text)


def test_what_is_found_here_is_shown_even_if_nothing_else_can_be_searched(laptop, desktop, monkeypatch):
    """It says so in one line."""
    desktop.session(5).say(user("where is my lantern"), says("nowhere"))

    def fail(*_):
        raise LedgerError("cannot be read", path="ledger.db")

    monkeypatch.setattr(machines.SharedSessions, "searched", fail)
    [(status, text)] = pages(desktop, "/find?q=lantern")
    assert status == 200
    assert "where is my" in text
    assert "What other machines share cannot be searched now" in text


def test_tokens_of_other_machines_count_where_everything_is_served(laptop, desktop):
    """Each answer once: a session that is here, too, is counted here."""
    [(_, usage)] = pages(desktop, "/usage")
    assert '<data value="' in usage
    [(_, recorded)] = pages(desktop, "/usage", everything=False)
    assert '<data value="' not in recorded


def test_what_changes_is_seen_with_the_next_page(laptop, desktop):
    """A list that was written again, and one that is damaged."""

    async def ask(app):
        before = (await app.ask("/machines")).body.decode()
        laptop.session(3).say(user("the violin"), says("yes"))
        laptop.share()
        after = (await app.ask("/machines")).body.decode()
        (laptop.part / MANIFEST).write_bytes(b'{"katodExport":99}\n')
        damaged = (await app.ask("/machines")).body.decode()
        return before, after, damaged

    before, after, damaged = run(desktop, ask, folders=(str(desktop.shared),))
    assert "violin" not in before
    assert "violin" in after
    assert "later version of katod" in damaged
    assert links(damaged) == []


def test_a_list_that_arrives_after_its_folder_is_seen(laptop, desktop):
    """Files come in any order."""
    content = (laptop.part / MANIFEST).read_bytes()
    (laptop.part / MANIFEST).unlink()

    async def ask(app):
        before = links((await app.ask("/machines")).body.decode())
        (laptop.part / MANIFEST).write_bytes(content)
        return before, links((await app.ask("/machines")).body.decode())

    before, after = run(desktop, ask, folders=(str(desktop.shared),))
    assert (len(before), len(after)) == (0, 2)


def test_a_transcript_is_shown_as_text(laptop, desktop):
    """There is nothing else of it."""
    laptop.cli("export", "--all", "-o", str(laptop.shared))
    drop_events(laptop)
    [(_, listed)] = pages(desktop, "/machines")
    texts = [text for _, text in pages(desktop, *links(listed))]
    assert any("It is blue." in text for text in texts)
    assert not any(SECRET in text for text in texts)


def test_what_was_forgotten_and_what_is_not_there_is_not_shown(laptop, desktop):
    """Nor a session of a machine that does not have it."""
    [(_, listed)] = pages(desktop, "/machines")
    for address in ("/machines/laptop/none", links(listed)[0].replace("laptop", "other")):
        assert pages(desktop, address)[0][0] == 404
    desktop.claude().say(user("copied"), says("yes"))
    desktop.once()
    desktop.cli("forget", SESSION, "--yes")
    [(_, after)] = pages(desktop, "/machines")
    assert len(links(after)) == len(links(listed)) - 1


def test_a_file_that_breaks_off_is_shown_up_to_there(laptop, desktop):
    """And it is said."""
    [path] = [path for path in laptop.part.rglob("*.jsonl") if b"It is red." in path.read_bytes()]
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"It is red.") - 30])
    [(_, listed)] = pages(desktop, "/machines")
    talks = [text for _, text in pages(desktop, *links(listed)) if "lantern" in text]
    assert "The rest could not be read." in talks[0]
    assert talks[0].endswith("</html>\n")
