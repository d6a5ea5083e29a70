"""Search everything (`make model`): python -m tests.support.workflow_model [the most states of a case]."""

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from time import process_time

from tests.support.workflow_model.cases import FULL, MUTANTS, WALKS
from tests.support.workflow_model.explorer import MOST, BrokenPromiseError, Explorer, Found, TooManyStatesError
from tests.support.workflow_model.values import Case

STEPS = 200_000
"""Of each case at random."""

Told = tuple[str, dict[str, int]]
"""A line about a search, and what it adds to the totals."""


def exhausted(case: int, most: int) -> Told:
    """Search a case of FULL up to `most` states. Raises BrokenPromiseError with the shortest way to a promise that is
    not kept.
    """
    began, of = process_time(), FULL[case]
    try:
        found = Explorer(of).exhaust(most)
    except TooManyStatesError as too_many:
        return f"{of.name}, {of.workers} workers, {of.left}: not exhausted, {too_many}", {}
    return _line(of, found, began, "states"), {"states": found.states, "steps between them": found.steps}


def walked(case: int) -> Told:
    """Search a case of WALKS at random. Raises BrokenPromiseError."""
    began = process_time()
    found = Explorer(WALKS[case]).walk(case, STEPS)
    return _line(WALKS[case], found, began, "walks"), {"steps at random": found.steps}


def caught(changed: str) -> Told:
    """Search a changed protocol. Raises AssertionError if it keeps its promises."""
    try:
        Explorer(MUTANTS[changed], changed).exhaust()
    except BrokenPromiseError as broken:
        return f"caught: {changed}: {str(broken).partition(chr(10))[0]}", {"mutants": 1}
    raise AssertionError(f"not caught: {changed}")


def _line(case: Case, found: Found, began: float, how: str) -> str:
    wrong = ", ".join(f"{name} {count}" for name, count in case.left._asdict().items() if count) or "nothing wrong"
    said = f"{case.name}, {case.workers} workers, {wrong}: {found.states:,} {how}, {found.steps:,} steps"
    return f"{said}, {found.rests:,} ends, {process_time() - began:.0f} s"


def main(most: int) -> None:
    """Search all cases, one on each processor at a time, and print what they find in their order."""
    total = Counter[str]()
    with ProcessPoolExecutor() as pool:
        searches = (
            pool.map(exhausted, range(len(FULL)), repeat(most)),
            pool.map(walked, range(len(WALKS))),
            pool.map(caught, MUTANTS),
        )
        for search in searches:
            for line, found in search:
                total.update(found)
                print(line, flush=True)  # noqa: T201
    print(", ".join(f"{count:,} {name}" for name, count in total.items()))  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MOST)
