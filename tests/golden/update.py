"""Regenerate the expected outputs: `python -m tests.golden.update`. Review every difference before committing it."""

import sys

from tests.golden.cases import FORMS, GOLDEN, cases


def main() -> None:
    """Write what has changed, remove what no fixture produces any more, and list both."""
    wanted = {case.golden(form): case.render(form) for case in cases() for form in FORMS}
    there = {path for path in GOLDEN.rglob("*") if path.is_file()}
    for path in sorted(there - wanted.keys()):
        path.unlink()
        sys.stdout.write(f"removed {path.relative_to(GOLDEN)}\n")
    for path, text in wanted.items():
        if path not in there or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            sys.stdout.write(f"written {path.relative_to(GOLDEN)}\n")


if __name__ == "__main__":
    main()
