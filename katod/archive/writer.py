"""Writes the export of one session to its file in the folder. Loads the formats."""

from collections.abc import Iterable

from katod.archive.excluded import Exclusion
from katod.archive.folder import ExportFolder
from katod.archive.manifest import Entry
from katod.archive.naming import ExportNaming
from katod.archive.plan import Outcome, Task, empty
from katod.archive.sessiontext import Rendering, Said, SessionText, SpooledSession
from katod.archive.tally import has_less
from katod.formatspec import FORMATS, signature_name
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey, Target
from katod.processes import Done
from katod.record.policy import Policy
from katod.write.whole import FileStamp, UnfinishedFile, hasher

SpooledText = Done[tuple[SessionMetadata, Said]]


class Writer:
    """Writes exports of one format to a folder; `notes` collects what people should know about single sessions."""

    def __init__(
        self, folder: ExportFolder, policy: Policy, exclusion: Exclusion, form: str, options: Options,
        tasks: Iterable[Task] = (),
    ) -> None:  # fmt: skip
        self._folder = folder
        self._exclusion = exclusion
        self._naming = ExportNaming(folder, policy, form)
        self._form = form
        self._rendering = Rendering(form, options)
        self._tasks = {task.found.key: task for task in tasks}
        self._below: dict[SessionKey, bool] = {}  # whether a sub-agent that is read before its turn is left out
        self.notes: list[str] = []

    @property
    def can_read_ahead(self) -> bool:
        """Whether what is read of a session is the same before its turn."""
        return self._rendering.is_the_same_anywhere

    def read_ahead(self, task: Task) -> SpooledText | None:
        """Read a session before its turn; None if there is nothing in it to keep until then."""
        session = self._rendering.begin(task)
        if session is None or self._exclusion.covers(task.slot, session.metadata.cwd) or self._is_below_excluded(task):
            return None
        return session.spooled()

    def _is_below_excluded(self, task: Task) -> bool:
        """Return whether the parent of a sub-agent is in an excluded project, which its export does not say yet."""
        parent = self._tasks.get(task.found.key._replace(subagent=""))
        if parent is None or parent is task:
            return False
        if parent.found.key not in self._below:
            above = self._rendering.begin(parent)
            self._below[parent.found.key] = above is not None and self._exclusion.covers(
                parent.slot, above.metadata.cwd
            )
        return self._below[parent.found.key]

    def write(self, task: Task, spooled: SpooledText | None = None) -> Outcome:
        """Export a session; return what came of it. Raises KatodError or OSError; its file is then as it was.

        What was read of it before its turn may be given.
        """
        if spooled is None or spooled.file is None:
            return self._write(task, self._rendering.begin(task))
        with spooled.file:
            return self._write(task, SpooledSession(*spooled.value, spooled.file))

    def _write(self, task: Task, session: SessionText | None) -> Outcome:
        if session is None:
            return self._nothing(task)
        if self._exclusion.covers(task.slot, session.metadata.cwd, looking=True):
            return self._excluded(task, session)
        return self._renew(task, session) if task.name else self._create(task, session)

    def _renew(self, task: Task, session: SessionText) -> Outcome:
        """Write the file of a session again, unless it is not as katod wrote it."""
        if task.present and not self._is_katods(task):
            return "left alone"
        return self._publish(task, session, Target(self._folder.root, tuple(task.name.split("/")), self._form))

    def _is_katods(self, task: Task) -> bool:
        """Return whether a file has the content that was noted, and begins as katod begins one.

        The list may come from elsewhere, and name any file in the folder.
        """
        entry = task.entry
        if entry is None or self._folder.look(entry, closely=True).state == "edited":
            return False
        return FORMATS[self._form].is_printed(self._folder.head(entry.parts))

    def _create(self, task: Task, session: SessionText) -> Outcome:
        """Write a file of its own for a session, or recognise the one that there is."""
        target = self._naming.target(session.metadata)
        there = self._folder.stamp(target.name)
        if there is None:
            return self._publish(task, session, target)
        if outcome := self._recognised(task, session, target, there):
            return outcome
        again = self._rendering.begin(task)
        return self._publish(task, again, self._naming.free(again.metadata)) if again else self._nothing(task)

    def _is_empty(self, task: Task, session: SessionText) -> bool:
        """Return whether nothing was said. JSONL keeps what is not understood, so that it can be one day."""
        said = session.said()
        if said.problem:
            self.notes.append(f"{task.found.key}: {said.problem}")
        return not said.is_spoken and not (said.is_unknown and self._form == "jsonl")

    def _publish(self, task: Task, session: SessionText, target: Target) -> Outcome:
        """Write a draft, and give it the name of the target; or another name, if the file there has to stay."""
        with self._folder.draft() as draft:
            for data in session.text(target, saving=True):
                draft.write(data)
            outcome = self._name(draft, task, session, target)
        if outcome:
            return outcome
        again = self._rendering.begin(task)
        return self._create(task._replace(step="beside"), again) if again else self._nothing(task)

    def _name(self, draft: UnfinishedFile, task: Task, session: SessionText, target: Target) -> Outcome | None:
        """Give a draft its name; None if it would replace a file that has more, or that is signed."""
        before, there, present = (task.entry, task.look.stamp, task.present) if task.name else (None, None, "")
        if self._is_empty(task, session):
            return self._nothing(task)
        if there is not None and draft.digest == present:
            self._folder.note(self._entry(task, session, target, there, present))
            return "unchanged"
        entry = self._entry(task, session, target, draft.complete(), draft.digest)._replace(before=present)
        if before is not None and self._has_to_stay(before, entry, there):
            return None
        self._folder.publish(draft, entry, there)
        self._naming.take(target)
        return "updated" if there else "wrote"

    def _has_to_stay(self, before: Entry, entry: Entry, there: FileStamp | None) -> bool:
        """Return whether a file has more than what would replace it, or a signature, which would not verify any more.

        A signed file that is gone is written again only as it was.
        """
        is_same = entry.digest == (entry.before or before.digest)
        is_signed = self._folder.stamp(signature_name(entry.name)) is not None
        return (is_signed and not is_same) or (there is not None and has_less(entry, before))

    def _recognised(self, task: Task, session: SessionText, target: Target, there: FileStamp) -> Outcome | None:
        """Compare an export with a file that is not in the manifest, which may be damaged; None if they differ."""
        hashed = hasher()
        for data in session.text(target, saving=False):
            hashed.update(data)
        if self._is_empty(task, session):
            return self._nothing(task)
        if hashed.hexdigest() != self._folder.digest(target.parts):
            return None
        self._folder.note(self._entry(task, session, target, there, hashed.hexdigest()))
        self._naming.take(target)
        return "unchanged"

    def _nothing(self, task: Task) -> Outcome:
        """Note that a session is empty. A file that was made of it when it was not stays."""
        before = task.entry or Entry(task.slot)
        noted = before._replace(made=task.made, sources=task.sources) if before.name else empty(task)
        self._folder.note(noted)
        return "unchanged" if before.name else "empty"

    def _excluded(self, task: Task, session: SessionText) -> Outcome:
        """Note only the project, so that the session is new once it is no longer excluded. A file of it stays.

        In a shared folder, nothing is noted of a session that was not exported before: others read the list.
        """
        before = task.entry or Entry(task.slot)
        if self._folder.manifest.machine.id and not before.name:
            return "excluded"
        self._folder.note(before._replace(cwd=session.metadata.cwd))
        return "excluded"

    def _entry(self, task: Task, session: SessionText, target: Target, stamp: FileStamp, digest: str) -> Entry:
        said = session.said()
        return Entry(
            task.slot, task.made, task.sources, target.name, *stamp, digest, said.text, cwd=said.cwd,
            recorded=said.recorded, earlier=_earlier(task, target), parent=said.parent,
        )  # fmt: skip


def _earlier(task: Task, target: Target) -> tuple[tuple[str, str], ...]:
    """Return the older files of a session: they have its words as well, and are forgotten with it."""
    before = task.entry
    if before is None:
        return ()
    is_beside = before.name not in ("", target.name)
    return (*before.earlier, (before.name, task.present or before.digest)) if is_beside else before.earlier
