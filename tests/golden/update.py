"""Regenerate the expected outputs: `python -m tests.golden.update`. Review every difference before committing it."""

import sys

from tests.command import outcomes
from tests.formats.otlp import golden as spans
from tests.golden import facts, short
from tests.golden.cases import FIXTURES, FORMS, GOLDEN, cases
from tests.golden.facts import FACTS
from tests.record import echoes, story
from tests.serve import answers
from tests.serve import story as served


def main() -> None:
    """Write what has changed, remove what no fixture produces any more, and list both."""
    wanted = {case.golden(form): case.render(form) for case in cases() for form in FORMS}
    wanted |= facts.texts() | short.texts()
    wanted |= {one.GOLDEN: one.text() for one in (answers, served, story, outcomes, echoes, spans)}
    there = {path for folder in (GOLDEN, FACTS) for path in folder.rglob("*") if path.is_file()}
    for path in sorted(there - wanted.keys()):
        path.unlink()
        sys.stdout.write(f"removed {path.relative_to(FIXTURES)}\n")
    for path, text in wanted.items():
        if path not in there or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            sys.stdout.write(f"written {path.relative_to(FIXTURES)}\n")


if __name__ == "__main__":
    main()
