"""Which beginnings of a file name the session of a recording."""

import pytest

from katod.errors import OutputUnreadable
from katod.record.outputfile import names_session
from katod.record.reading import content_of, opened_text
from tests.looping import each
from tests.support.records import SESSION, Claude


@pytest.fixture
def row(world):
    """Return a recording."""
    world.claude().append(Claude().user("::start notes\nwords"))
    world.once()
    return world.outputs()[0]


OWN = (
    f'---\ntitle: "a"\nsession: "{SESSION}"\ntags: [katod]\n---\n',
    f"---\r\ntitle: a\r\nsession: {SESSION}\r\n---\r\n",
    f"\ufeff---\nsession: '{SESSION}'\nmine: yes\n---\n",
    f'{{"schema":"katod.event/1","session":{{"agent":"claude","id":"{SESSION}"}}}}\n{{}}',
)
OTHER = (
    "",
    '---\ntitle: "a"\nsession: "another"\n---\n',
    f'---\ntitle: "a"\nsession: "{SESSION}"\nsubagent: "a1"\n---\n',
    f'---\ntitle: "a"\n---\n\nsession: "{SESSION}"\n---\n',
    f'session: "{SESSION}"\n',
    f'{{"session":"{SESSION}"}}\n',
    f'["{SESSION}"]\n',
    f'{{"session":{{"id":"another","parent":"{SESSION}"}}}}\n',
    f'{{"session":{{"id":"{SESSION}","subagent":"a1"}}}}\n',
    f'{{"session":{{"id":"{SESSION}"',
)


@each("head", OWN)
def test_front_matter_or_an_event_names_it(row, head):
    """Also after another program wrote it again, with other quotes and line ends."""
    assert names_session(row, head.encode())


@each("head", OTHER)
def test_another_session_or_another_place_does_not(row, head):
    """Neither does a sub-agent of it, nor a text that has its id."""
    assert not names_session(row, head.encode())


def test_a_sub_agent_is_named_with_its_session(row):
    """Both ids count."""
    of_agent = row._replace(head=row.head | {"key": ["claude", SESSION, "a1"]})
    head = f'---\nsession: "{SESSION}"\nsubagent: "a1"\n---\n'.encode()
    assert names_session(of_agent, head)
    assert not names_session(row, head)


def test_a_session_that_continues_another_one_is_not_it(row):
    """The first line of a format for programs may name the other one as its parent."""
    of_matrix = row._replace(format="matrix")
    line = '{"content":{"session_id":"%s","katod_session":{"parent":"%s"}}}\n'
    assert names_session(of_matrix, (line % (SESSION, "another")).encode())
    assert not names_session(of_matrix, (line % ("another", SESSION)).encode())


def test_it_is_read_as_bytes_or_text(row):
    """Bytes that are no text are replaced there."""
    with row.path.open("ab") as file:
        file.write(b"\xff\n")
    assert content_of(row) == row.path.read_bytes()
    with opened_text(row) as file:
        assert file.read().endswith("\ufffd\n")
    row.path.unlink()
    with pytest.raises(OutputUnreadable, match="no longer exists"):
        content_of(row)
