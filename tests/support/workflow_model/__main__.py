"""Search everything (`make model`): python -m tests.support.workflow_model [the most states of a case]."""

import sys
from time import process_time

from tests.support.workflow_model.cases import FULL, MUTANTS, WALKS
from tests.support.workflow_model.explorer import MOST, BrokenPromiseError, Explorer, Found, TooManyStatesError
from tests.support.workflow_model.values import Case

STEPS = 200_000
"""Of each case at random."""


def told(case: Case, found: Found, began: float, how: str) -> Found:
    """A line about a search."""
    wrong = ", ".join(f"{name} {count}" for name, count in case.left._asdict().items() if count) or "nothing wrong"
    said = f"{case.name}, {case.workers} workers, {wrong}: {found.states:,} {how}, {found.steps:,} steps"
    sys.stdout.write(f"{said}, {found.rests:,} ends, {process_time() - began:.0f} s\n")
    sys.stdout.flush()
    return found


def main(most: int) -> None:
    """Search cases up to `most` states each. Raises BrokenPromiseError with the shortest way to a promise that is not
    kept.
    """
    states = steps = walked = 0
    for case in FULL:
        began = process_time()
        try:
            found = told(case, Explorer(case).exhaust(most), began, "states")
        except TooManyStatesError as too_many:
            sys.stdout.write(f"{case.name}, {case.workers} workers, {case.left}: not exhausted, {too_many}\n")
            continue
        states, steps = states + found.states, steps + found.steps
    for seed, case in enumerate(WALKS):
        began = process_time()
        walked += told(case, Explorer(case).walk(seed, STEPS), began, "walks").steps
    for changed, case in MUTANTS.items():
        try:
            Explorer(case, changed).exhaust()
        except BrokenPromiseError as broken:
            sys.stdout.write(f"caught: {changed}: {str(broken).partition(chr(10))[0]}\n")
        else:
            raise AssertionError(f"not caught: {changed}")
    sys.stdout.write(f"{states:,} states, {steps:,} steps between them, {walked:,} at random, {len(MUTANTS)} mutants\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MOST)
