"""What stands in a conversation in place of what cannot be read, as HTML. Pure."""

from collections.abc import Sequence

from katod.serve.page.board import Row
from katod.serve.page.frame import closing, text
from katod.serve.page.sessionview import Output


def gone(row: Row, outputs: Sequence[Output]) -> str:
    """Return what is said of a session whose files no longer exist: what katod wrote of it is left."""
    if not outputs:
        return '<p id="gone">The files of this session no longer exist.</p>\n'
    links = ", ".join(
        f'<a href="/s/{row.name}/transcripts/{one.id}">{text(one.path.rpartition("/")[2])}</a>' for one in outputs
    )
    return f'<p id="gone">The files of this session no longer exist. What katod wrote of it is left: {links}</p>\n'


def cut_off(told: str) -> str:
    """Return the end of a page of which the rest could not be read, with the reason."""
    return f'</div>\n<p class="failed" role="alert">{text(told)}</p>\n</main>\n{closing()}'
