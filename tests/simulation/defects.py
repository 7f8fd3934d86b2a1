"""Defects that katod had, each put back into its source: the simulation has to find every one of them.

Nothing here imports katod: a defect is put back while its module is being imported.
"""

import sys
from importlib.abc import FileLoader, SourceLoader
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]


class Defect(NamedTuple):
    """What was wrong, and how it looks in the source today: a text in a module, and what stood there instead."""

    said: str
    module: str
    text: str
    before: str

    @property
    def path(self):
        """The file of the module."""
        return ROOT / f"{self.module.replace('.', '/')}.py"


DEFECTS: Final = {
    "break": Defect(
        "A capture that waited at its end had not taken up what was read with that, but counted it as read.",
        "katod.record.catchup",
        "                name(self.output, event, self.stream.metadata)\n",
        "                name(self.output, event, self.stream.metadata)\n"
        "            if self.is_done:\n                break\n",
    ),
    "unread": Defect(
        "What was seen, but not read when katod was killed, was not read at the next start.",
        "katod.discover.catalog",
        "        return [s for s in sources if s.baseline is None or s.problem or s.cursor.offset < s.seen.size]\n",
        "        return [s for s in sources if s.problem]\n",
    ),
    "fold": Defect(
        "Where a session was taken up again, an echo counted as what was said last: a recording began at it.",
        "katod.record.stream",
        "            if refold and not is_missed:\n",
        "            if refold or is_missed:\n",
    ),
    "moved": Defect(
        "A transcript that its person had renamed was begun anew.",
        "katod.write.moved",
        "    alike = {}\n",
        "    return None\n    alike = {}\n",
    ),
    "echoes": Defect(
        "A client that wrote its history again was recorded, and obeyed, once more.",
        "katod.record.echo",
        "        here, words = [Passed(event, path, False, is_past) for event in message], self._words(message)\n",
        "        here, words = [Passed(event, path, False, is_past) for event in message], None\n",
    ),
    "restart": Defect(
        "What katod knew of echoes was lost when it was restarted.",
        "katod.record.stream",
        "        self._echoes = Echoes(key, kept.get(_ECHOES)) if whole else None\n",
        "        self._echoes = Echoes(key) if whole else None\n",
    ),
    "order": Defect(
        "A result that the agent wrote before its call stood above it.",
        "katod.record.stream",
        "        self._order = None if gaps else CallOrder(kept.get(_ORDER))\n",
        "        self._order = None\n",
    ),
    "intent": Defect(
        "What had been appended when katod was killed was appended again.",
        "katod.record.delivery",
        '        known, foreign = complete(output.place, output.known, row.intent or b"", row.bounds)\n',
        '        known, foreign = append(output.place, row.intent or b""), False\n',
    ),
    "root": Defect(
        "katod wrote where the disk of an output had been mounted.",
        "katod.write.safe",
        "        if marker:\n",
        "        if False:\n",
    ),
    "shared": Defect(
        "An output that waited for its disk had its position in common with its session, which went on.",
        "katod.record.catchup",
        "        output.fall_behind(orjson.loads(orjson.dumps(behind)))",
        "        output.fall_behind(behind)",
    ),
}  # fmt: skip


def put_back(name):
    """Put a defect back into katod, which must not be imported yet."""
    defect = DEFECTS[name]
    assert not any(module.partition(".")[0] == "katod" for module in sys.modules)
    sys.meta_path.insert(0, _Finder(defect))


class _Finder:
    """Finds modules as Python does, and has one of them loaded with its defect."""

    def __init__(self, defect):
        self._defect = defect

    def find_spec(self, module, path, target=None):
        """Return the spec of the module with the defect, None for any other."""
        spec = PathFinder.find_spec(module, path, target) if module == self._defect.module else None
        if spec is not None:
            assert isinstance(spec.loader, SourceFileLoader)
            spec.loader = _Loader(module, spec.loader.path, self._defect)
        return spec


class _Loader(FileLoader, SourceLoader):
    """Loads a source file with a defect, and leaves no compiled one behind."""

    def __init__(self, module, path, defect):
        super().__init__(module, path)
        self._defect = defect

    def get_code(self, fullname):
        """Compile the source, whatever was compiled before."""
        source = Path(self.path).read_text()
        assert source.count(self._defect.text) == 1, self._defect.text
        return self.source_to_code(source.replace(self._defect.text, self._defect.before), self.path)
