"""What katod keeps beside recordings, in the simulation: an archive, copies of what agents delete, what is forgotten."""

import re

from katod.rescue.copyfile import members, pieces, read_about
from katod.rescue.names import place_of
from katod.rescue.rescuer import PATIENCE
from katod.service.control import WITH_OUTPUTS, Request

from .seam import Killed

MOMENT = "2026-02-10T23:00:00.000Z"
SESSION = re.compile(r'^session: "(?:ses_)?([0-9a-f]{8})["-]', re.MULTILINE)
DAY = 86_400.0
KEPT = 30 * DAY  # by these
DELETING = ("claude", "gemini")
SAFELY = 3 * DAY  # from this limit, whichever side it is on


class Archive:
    """A directory of `katod export --all`, brought up to date now and then by a program that may be killed."""

    def __init__(self, world):
        self.world = world
        self.is_made = False

    def update(self):
        """Bring it up to date; return whether the program survived."""
        self.is_made = True
        try:
            self._export("archive")
        except Killed:
            return False
        return True

    def wrong(self, cut):
        """Yield where it differs from one that is made now, but for the sessions of which something was lost since."""
        if not self.is_made:
            return
        self._export("archive")
        self._export("fresh")
        there, fresh = self._files("archive"), self._files("fresh")
        for number in sorted(fresh.keys() - cut):
            if there.get(number) != fresh[number]:
                yield f"{number} in the archive is {'missing' if number not in there else 'another one, or there twice'}"

    def _export(self, name):
        self.world.cli("export", "--all", "-o", str(self.world.home / name))

    def _files(self, name):
        """Return what there is of each session; its name may come from a shorter conversation."""
        found = {}
        for path in sorted((self.world.home / name).rglob("*.md")):
            found.setdefault(SESSION.search(path.read_text())[1], []).append(path.read_bytes())
        return found


class Copies:
    """What was saved from deletion, and what must have been."""

    def __init__(self, world):
        self.folder = world.home / ".local/share/katod/rescued"
        self.promised = {}  # what the file of each session had when its agent deleted it
        self.unwanted = set()  # what a person deleted

    def save(self, katod):
        """Let katod save what is due."""
        katod._chores.rescuer._clock.next = 0.0
        katod._chores.rescue_all(lambda: False)

    def wrong(self, forgotten):
        """Yield which copies are missing, incomplete, or should be gone, as those of forgotten sessions are."""
        for key, content in self.promised.items():
            place = place_of(self.folder, key)
            if not place.exists():
                yield f"{key} was not saved"
                continue
            with members(place) as (about, archive):
                saved = {file.path: b"".join(pieces(archive, file.name)) for file in about.files}
            if content not in saved.values():
                yield f"the copy of {key} is not what was deleted"
        yield from (
            f"{key} was deleted by a person" for key in self.unwanted | forgotten if place_of(self.folder, key).exists()
        )
        for place in self.folder.glob("*/*.zip"):
            read_about(place)  # raises if it is damaged


class Keeping:
    """What an episode does with these. A part of `Episode`, which has the rest of its attributes."""

    def do_archive(self, rng):
        """The person brings an archive up to date, with a program that may be killed."""
        if self.seam.full or self.away is not None:
            return
        for chat in self.chats:  # what an agent is about to have written again is shown until that is known
            chat.complete()
        if rng.random() < 0.5:
            self.seam.kill_at(int(rng.paretovariate(0.7)))
        self.kills += not self.archive.update()
        self.seam.revive()

    def do_rescue(self, rng):
        """Katod saves what agents are about to delete, and may be killed meanwhile."""
        if rng.random() < 0.5:
            self.seam.kill_at(int(rng.paretovariate(0.7)))
        self._let(self.copies.save)
        self.seam.revive()

    def do_clean(self, rng):
        """Claude Code and Gemini CLI delete what did not change for 30 days, once katod had the time to save it."""
        if self.is_paused or self.seam.full or not self._calm():
            return
        self._let(self.copies.save)
        for chat in self.chats:
            if chat.session.agent in DELETING and chat.begun and chat.exists and self._age(chat) > KEPT:
                if chat.is_recorded_in_part and not chat.is_forgotten:
                    self.copies.promised[chat.key] = chat.path.read_bytes()
                chat.delete()
        self._calm()
        self._let(self.copies.save)

    def do_forget(self, rng):
        """The person has a session forgotten, and what was recorded of it deleted, unless there are notes in that."""
        chat = self._quiet(rng)
        if chat is None:
            return
        deletes = chat.number % 2 == 0 and rng.random() < 0.5
        self._ask(rng, Request(tuple(chat.key), "forget", WITH_OUTPUTS if deletes else "", MOMENT))
        chat.forget(deletes=deletes)

    def _remains(self):
        """Yield where the state still names a session that was forgotten and did not change since."""
        names = [getattr(chat.session, "id", chat.session.session).encode() for chat in self.chats if chat.is_buried]
        for path in self.world.state.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                yield from (f"{path.name} still has {name.decode()}" for name in names if name in content)

    def _delete(self, chat):
        """Let a person delete a session: while its agent would have kept it, katod's copy goes with it.

        Katod knows that a saved one went on since it last looked for what is due.
        """
        if self._calm():
            self._let(self.copies.save)
        was_young = chat.session.agent in DELETING and self._age(chat) < KEPT - SAFELY
        agent = chat.session.agent
        others = [one for one in self.chats if one is not chat and one.session.agent == agent and one.exists]
        chat.delete()
        if not was_young or self.is_paused or not others or not self._calm():
            return
        self.copies.unwanted.add(chat.key)
        for _ in range(2):
            self._let(self.copies.save)
            self.now += PATIENCE + 1

    def _age(self, chat):
        return self.now - chat.path.stat().st_mtime
