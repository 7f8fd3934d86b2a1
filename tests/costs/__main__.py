"""Prints what everything costs: `python -m tests.costs`; with `--update`, that is what is expected from now on."""

import json
import sys
import tempfile
from pathlib import Path

from tests.costs.workloads import all_costs

EXPECTED = Path(__file__).with_name("expected.json")


def main() -> None:
    """Count, and print a line for each cost."""
    with tempfile.TemporaryDirectory() as home:
        found = {name: cost._asdict() for name, cost in all_costs(Path(home))}
    lines = [f"  {json.dumps(name)}: {json.dumps(cost)}" for name, cost in found.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    print(text, end="")
    if "--update" in sys.argv[1:]:
        EXPECTED.write_text(text)


if __name__ == "__main__":
    main()
