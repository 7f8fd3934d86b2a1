"""Texts like those in sessions, generated from a seed: prose with Markdown, source files, command output."""

import base64
from random import Random
from typing import Final

_VOCABULARY: Final = """
    the a this that each every one two when where because although after before and or but with without from into
    reader writer cursor ledger session token key value parser request response timeout buffer socket worker queue
    file folder line byte record event message output format config option default error retry cache index table
    test fixture suite branch commit merge rebase build release version package import module function class method
    returns takes raises opens closes reads writes waits blocks leaks grows fails passes checks moves keeps drops
    fast slow empty whole broken stale missing unused private public shared frozen lazy strict safe small large
"""
_WORDS: Final = _VOCABULARY.split()
_SHORT: Final = ("a", "an", "as", "at", "be", "by", "if", "in", "is", "it", "no", "of", "on", "or", "so", "to", "up")
# Names of secrets, and colours: of 14,305 texts of real sessions, 346 have something that redaction looks at twice.
_NAMES_OF_SECRETS: Final = ("password", "secret", "bearer", "access token", "client secret", "pass")
_RARE: Final = ("Größe", "Übersicht", "naïve", "café", "测试", "結果", "→", "✓", "…")
_NAMES: Final = ("load", "save", "parse", "render", "append", "flush", "resolve", "encode", "merge", "split", "match")
_HASH: Final = "0123456789abcdef"


class Texts:
    """Pools of texts of various lengths; `prose()`, `source()` and `printed()` each return one of them."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._prose = [self._message(self._length(1, 14, 3)) for _ in range(80)]
        self._sources = [self._file(self._length(10, 500, 110)) for _ in range(60)]
        self._printed = [self._log(self._length(1, 300, 50)) for _ in range(80)]

    def prose(self) -> str:
        """Return a message: a few paragraphs, lists and blocks of code."""
        return self._random.choice(self._prose)

    def request(self) -> str:
        """Return a person's request: a sentence or two."""
        return " ".join(self._sentence() for _ in range(self._random.randint(1, 3)))

    def source(self) -> str:
        """Return a file that an agent reads or writes."""
        return self._random.choice(self._sources)

    def printed(self) -> str:
        """Return the output of a command."""
        return self._random.choice(self._printed)

    def path(self) -> str:
        """Return the path of a file, relative to the project."""
        return f"src/{self._random.choice(_NAMES)}/{self._random.choice(_NAMES)}_{self._random.randint(1, 40)}.py"

    def sealed(self, size: int) -> str:
        """Return text that looks encrypted: base64 of random bytes."""
        return base64.b64encode(self._random.randbytes(size)).decode()

    def _length(self, least: int, most: int, usual: int) -> int:
        """Return a random length; most are short, a few are long."""
        return max(least, min(most, int(self._random.lognormvariate(0, 1) * usual)))

    def _sentence(self) -> str:
        words = self._random.choices(_WORDS, k=self._random.randint(5, 18))
        words[::4] = self._random.choices(_SHORT, k=len(words[::4]))
        if self._random.random() < 0.3:
            words[-1] = f"`{self._random.choice(_NAMES)}_{self._random.choice(_NAMES)}()`"
        if self._random.random() < 0.1:
            words[1] = self._random.choice(_RARE)
        if self._random.random() < 0.01:
            words[2] = self._random.choice(_NAMES_OF_SECRETS)
        return " ".join(words).capitalize() + "."

    def _message(self, blocks: int) -> str:
        makers = (self._paragraph, self._paragraph, self._paragraph, self._list, self._heading, self._fence)
        return "\n\n".join(self._random.choice(makers)() for _ in range(blocks))

    def _paragraph(self) -> str:
        return " ".join(self._sentence() for _ in range(self._random.randint(1, 5)))

    def _list(self) -> str:
        return "\n".join(f"- **{self._random.choice(_NAMES)}**: {self._sentence()}" for _ in range(4))

    def _heading(self) -> str:
        return f"## {self._sentence()[:40]}"

    def _fence(self) -> str:
        return f"```python\n{self._file(8)}\n```"

    def _file(self, lines: int) -> str:
        return "\n".join(self._code_line() for _ in range(lines))

    def _code_line(self) -> str:
        pick, name = self._random.choice, self._random.choice(_NAMES)
        indent = " " * self._random.choice((0, 4, 4, 8, 8, 12))
        shapes = (
            f"def {name}_{pick(_WORDS)}(self, path: str, *, limit: int = {self._random.randint(0, 999)}) -> bytes:",
            f'{indent}token = self._{name}("{pick(_WORDS)}", {pick(_WORDS)}=None)',
            f'{indent}if {name} is None and key["{pick(_WORDS)}"] != "{pick(_WORDS)}":',
            f"{indent}return std::{name}::<{pick(_WORDS)}>(&self.{pick(_NAMES)})",
            f"{indent}# {' '.join(self._random.choices(_WORDS, k=8))}",
            f'{indent}<div class="{name}" data-key="{pick(_WORDS)}">{pick(_WORDS)}</div>',
            f'{indent}"{name}": {{"type": "{pick(_WORDS)}", "limit": {self._random.randint(0, 9999)}}},',
            "",
        )
        return pick(shapes)

    def _log(self, lines: int) -> str:
        is_coloured = self._random.random() < 0.05
        return "\n".join(self._log_line("\x1b[32m✓\x1b[0m" if is_coloured else "✓") for _ in range(lines))

    def _log_line(self, tick: str) -> str:
        pick, number = self._random.choice, self._random.randint(0, 99_999)
        shapes = (
            f"tests/test_{pick(_NAMES)}.py::test_{pick(_NAMES)}_{pick(_WORDS)} PASSED [{number % 100:3}%]",
            f"-rw-r--r-- 1 dev dev {number:8} Jan {number % 28 + 1:2} 10:{number % 60:02} {pick(_NAMES)}_{number}.rs",
            f"{''.join(self._random.choices(_HASH, k=40))} refs/heads/{pick(_NAMES)}-{number}",
            f"src/{pick(_NAMES)}/{pick(_NAMES)}.py:{number}:    {' '.join(self._random.choices(_WORDS, k=6))}",
            f"2026-01-{number % 28 + 1:02}T10:11:12Z INFO {pick(_WORDS)} {pick(_NAMES)}={number} took {number % 977} ms",
            f"+    {pick(_NAMES)} = {pick(_NAMES)}({pick(_WORDS)!r})",
            f"{tick} {pick(_WORDS)} {pick(_NAMES)} ({number % 977} ms)",
        )
        return pick(shapes)
