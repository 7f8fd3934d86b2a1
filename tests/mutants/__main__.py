"""Try small changes of katod, and say which ones no test notices: `python -m tests.mutants`. See tests/README.md."""

import argparse
import sys
import time
from collections import Counter

from tests.mutants.equivalent import reason
from tests.mutants.trial import PARTS, Mutant, Outcome, draw, mutants, try_all


def main() -> int:
    """Draw mutants, or take all on some lines, and report each; the exit code says whether one lived."""
    options = _options()
    wanted = _at(options.at) if options.at else draw(options.seed, options.count, options.parts)
    if options.list:
        print(*(f"{mutant.place} {mutant.words}" for mutant in wanted), sep="\n")
        return 0
    outcomes = []
    until = time.monotonic() + options.minutes * 60
    for outcome in try_all(wanted, options.jobs, until, 2 if options.part else 3):
        outcomes.append(outcome)
        print(_line(outcome), flush=True)
    figures = Counter(_verdict(outcome) for outcome in outcomes)
    print(f"{len(outcomes)} drawn:", ", ".join(f"{count} {name}" for name, count in sorted(figures.items())))
    return int(figures["lived"] > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"parts or modules of katod ({', '.join(PARTS)})")
    parser.add_argument("--seed", default="0", help="draws the same ones of the same code again (0)")
    parser.add_argument("--count", type=int, default=10, help="how many are drawn (10)")
    parser.add_argument("--at", nargs="+", metavar="FILE:LINE", help="all on these lines instead, as in reports")
    parser.add_argument("--jobs", type=int, default=1, help="how many are tried at a time (1)")
    parser.add_argument("--minutes", type=float, default=1e6, help="undecided are those that are not done by then")
    parser.add_argument("--part", action="store_true", help="leave out the tests of other parts: some live for that")
    parser.add_argument("--list", action="store_true", help="only say which ones")
    return parser.parse_args()


def _at(places: list[str]) -> list[Mutant]:
    files = {place.partition(":")[0].removeprefix("katod/") for place in places}
    return [mutant for mutant in mutants(sorted(files)) if {mutant.place, mutant.path} & set(places)]


def _verdict(outcome: Outcome) -> str:
    is_known = outcome.verdict == "lived" and reason(outcome.mutant)
    return "equivalent" if is_known else outcome.verdict


def _line(outcome: Outcome) -> str:
    why = reason(outcome.mutant) if _verdict(outcome) == "equivalent" else outcome.by
    mutant = outcome.mutant
    return f"{_verdict(outcome):10} {outcome.seconds:4.0f} s  {mutant.place}  {mutant.words}  {why}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
