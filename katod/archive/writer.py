"""Writes the export of one session to its file in the folder. Loads the formats."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from katod.archive.folder import ExportFolder
from katod.archive.manifest import Entry
from katod.archive.naming import ExportNaming
from katod.archive.plan import Outcome, Task
from katod.log import EventLog
from katod.model import Options, Target
from katod.record.export import Begun, Stretch, Tally, look_ahead, picture_folder, picture_saver, render, replay
from katod.record.policy import Policy
from katod.write.whole import Stamp, hasher


class Talk(NamedTuple):
    """A conversation that is being read, and what was said in it so far."""

    begun: Begun
    tally: Tally


class Writer:
    """Writes exports of one format to a folder; `notes` collects what people should know about single sessions."""

    def __init__(self, folder: ExportFolder, policy: Policy, form: str, options: Options, log: EventLog) -> None:
        self._folder = folder
        self._naming = ExportNaming(folder, policy, form)
        self._form = form
        self._options = options
        self._log = log
        self.notes: list[str] = []

    def write(self, task: Task) -> Outcome:
        """Export a session; return what came of it. Raises KatodError or OSError; its file is then as it was."""
        talk = self._begin(task)
        if talk is None:
            return self._nothing(task)
        if task.name:
            return self._publish(task, talk, Target(self._folder.root, tuple(task.name.split("/")), self._form))
        target = self._naming.target(talk.begun.metadata)
        there = self._folder.stamp(target.name)
        if there is None:
            return self._publish(task, talk, target)
        if outcome := self._recognised(task, talk, target, there):
            return outcome
        again = self._begin(task)
        return self._publish(task, again, self._naming.free(again.begun.metadata)) if again else self._nothing(task)

    def _begin(self, task: Task) -> Talk | None:
        tally = Tally()
        stretches = [Stretch(path, identity) for path, identity, _ in task.found.files]
        begun = look_ahead(tally.over(replay(task.found.key, stretches, self._log)))
        return Talk(begun, tally) if begun else None

    def _text(self, talk: Talk, target: Target, *, saving: bool) -> Iterator[bytes]:
        """Yield the text of an export, and save its pictures."""
        folder = picture_folder(target.path.name, self._form, self._options)
        options = replace(self._options, assets=folder) if folder else replace(self._options, attachments="name")
        save = picture_saver(target.root, target.parts, folder) if folder and saving else _save_nothing
        for piece in render(talk.begun, self._form, options, save):
            yield piece.encode("utf-8", "replace")

    def _is_empty(self, task: Task, talk: Talk) -> bool:
        """Return whether nothing was said. JSONL keeps what is not understood, so that it can be one day."""
        if talk.tally.problem:
            self.notes.append(f"{task.found.key}: {talk.tally.problem}")
        return not talk.tally.spoken and not (talk.tally.unknown and self._form == "jsonl")

    def _publish(self, task: Task, talk: Talk, target: Target) -> Outcome:
        """Write a draft, and give it the name of the target."""
        there, present = (task.look.stamp, task.present) if task.name else (None, "")
        with self._folder.draft() as draft:
            for data in self._text(talk, target, saving=True):
                draft.write(data)
            if self._is_empty(task, talk):
                return self._nothing(task)
            if there is not None and draft.digest == present:
                self._folder.note(self._entry(task, target, there, present))
                return "unchanged"
            entry = self._entry(task, target, draft.complete(), draft.digest)._replace(before=present)
            self._folder.publish(draft, entry, there)
        self._naming.take(target)
        return "updated" if there else "wrote"

    def _recognised(self, task: Task, talk: Talk, target: Target, there: Stamp) -> Outcome | None:
        """Compare an export with a file that is not in the manifest, which may be damaged; None if they differ."""
        hashed = hasher()
        for data in self._text(talk, target, saving=False):
            hashed.update(data)
        if self._is_empty(task, talk):
            return self._nothing(task)
        if hashed.hexdigest() != self._folder.digest(target.parts):
            return None
        self._folder.note(self._entry(task, target, there, hashed.hexdigest()))
        self._naming.take(target)
        return "unchanged"

    def _nothing(self, task: Task) -> Outcome:
        """Note that a session is empty. A file that was made of it when it was not stays."""
        before = task.entry or Entry(task.slot)
        self._folder.note(before._replace(made=task.made, sources=task.sources))
        return "unchanged" if before.name else "empty"

    def _entry(self, task: Task, target: Target, stamp: Stamp, digest: str) -> Entry:
        return Entry(task.slot, task.made, task.sources, target.name, *stamp, digest)


def _save_nothing(_media: str, _data: str) -> None:
    pass
