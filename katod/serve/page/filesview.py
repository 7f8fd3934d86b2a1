"""The files that a session changed, as HTML. Pure."""

from collections.abc import Sequence

from katod.formats.html import coloured_code
from katod.formats.when import When
from katod.serve.page.board import Row
from katod.serve.page.edited import Edit, File
from katod.serve.page.frame import closing, opening, text
from katod.serve.page.listview import name_of


def files_page(row: Row, files: Sequence[File], zone: str) -> str:
    """Return the page."""
    when = When(zone)
    listed = "".join(_file(row, file, when) for file in files)
    total = _size(sum(file.added for file in files), sum(file.removed for file in files))
    count = f"{len(files):,} {'file' if len(files) == 1 else 'files'} {total}" if files else "No file was changed."
    return (
        f'{opening(f"Files · {name_of(row)}", "files")}<main id="main">\n'
        f'<p class="quiet"><a href="/s/{row.name}">{text(name_of(row))}</a></p>\n<h1>Files changed</h1>\n'
        f"<p>{count}</p>\n{listed}</main>\n{closing()}"
    )


def _file(row: Row, file: File, when: When) -> str:
    edits = "".join(_edit(row, edit, when) for edit in file.edits)
    about = f"<code>{text(file.path) or '?'}</code> {_size(file.added, file.removed)}"
    return f'<details class="file"><summary>{about}</summary>\n{edits}</details>\n'


def _edit(row: Row, edit: Edit, when: When) -> str:
    stamp = text(when.stamp(edit.time, "")) or "in the conversation"
    lines = coloured_code(edit.lines, "diff") if edit.lines else ""
    return f'<p class="quiet"><a href="/s/{row.name}#{edit.event}">{stamp}</a></p>\n{lines}\n'


def _size(added: int, removed: int) -> str:
    return f'<span class="size"><b class="gi">+{added:,}</b> <b class="gd">−{removed:,}</b></span>'  # noqa: RUF001
