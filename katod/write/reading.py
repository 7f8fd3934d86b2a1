"""Opens an output to be read, as the writer opens it: whatever katod shows as recorded goes through here.

An agent may put a link where an output, or a folder of its path, was: without these checks, another file of the user
would be shown as what was recorded. So no link is followed below the root, the file has one name and belongs to this
user, and it is the output: by its inode, by what katod wrote last, or by the session that its beginning names, as
editors save a new file and katod adopts it only with the next event.
"""

from io import BufferedReader
from typing import Final

from katod.errors import OutputUnreadable, TargetRefused
from katod.write.output import FileFingerprint, Named, OutputPath, is_output
from katod.write.safe import open_parent, open_to_read

_NOT_KATODS: Final = "move it away: `katod export --recording` prints what was recorded again"
_NOT_PLAIN: Final = "katod shows only regular files of yours, with a single hard link, below their directory"


def open_output(place: OutputPath, known: FileFingerprint, names_session: Named) -> BufferedReader:
    """Return an output, open for reading; `names_session` judges the bytes at the beginning of an edited one.

    Its marker need not be there: what it protects from is writing. Raises OutputUnreadable with the reason if it is
    gone, is or is below a link, has more than one hard link, belongs to another user, or is not what katod wrote.
    """
    file = open_plain(place)
    if is_output(file.fileno(), known, names_session):
        return file
    file.close()
    raise OutputUnreadable("is not the transcript that katod wrote", path=place.path, hint=_NOT_KATODS)


def open_plain(place: OutputPath) -> BufferedReader:
    """Return a file that no ledger knows, but a person keeps among outputs, open for reading. Raises OutputUnreadable.

    It is opened as `open_output` does, whatever is in it.
    """
    try:
        with open_parent(place.root, place.parts, make=False) as parent:
            return open(open_to_read(parent, place.parts[-1]), "rb")
    except FileNotFoundError as error:
        raise OutputUnreadable("no longer exists", path=place.path, is_gone=True) from error
    except TargetRefused as error:
        raise OutputUnreadable(error.what, path=place.path, hint=_NOT_PLAIN) from error
    except OSError as error:
        raise OutputUnreadable(f"cannot be read: {error.strerror}", path=place.path) from error
