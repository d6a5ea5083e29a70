"""`python -m tests.support.wait_queue_search`: searches the wait queue with a limit of active runs, which
changes meanwhile.

Two workers, three runs, a crash and a duplicate together have too many states to see all: histories are drawn there.
Then it draws cases: one for ten histories of each of the former.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from random import Random

from tests.property.test_wait_queue_protocol import BREAKERS, KEYS, RATES, RULES, case
from tests.support.wait_queue_explorer import Case, Explorer
from tests.support.wait_queue_model import Left
from tests.support.wait_queue_mutants import as_it_is, releasing

WRONG = Left(crashes=1, copies=1, limits=1)

SEARCHED = {
    "1, 3 runs, 1 worker, crash": case("allow 1", runs=3, workers=1, left=Left(crashes=1), callback=True),
    "2, 3 runs, 1 worker, duplicate": case("allow 2", runs=3, workers=1, left=Left(copies=1), callback=True),
    "2, 3 runs, 2 workers": case("allow 2", runs=3, workers=2),
    "1 then 2, 3 runs, 1 worker, crash": case(
        "allow 1", runs=3, workers=1, left=Left(crashes=1, limits=1), callback=True, then="allow 2"
    ),
    "2 then 1, 3 runs, 1 worker, crash": case(
        "allow 2", runs=3, workers=1, left=Left(crashes=1, limits=1), callback=True, then="allow 1"
    ),
    "of a key 1, 3 runs of 2 jobs, 1 worker, crash": case(
        "queue, key 1", runs=3, workers=1, jobs=2, left=Left(crashes=1), callback=True
    ),
    "of a key 1, 2 jobs, 2 workers, crash and duplicate": case(
        "allow, key 1", workers=1, jobs=2, left=Left(crashes=1, copies=1), callback=True
    ),
    "of two calls at once, key 2, 4 runs of 2 jobs, 1 worker, crash": case(
        "allow, key 2", runs=4, workers=1, jobs=2, left=Left(crashes=1), callback=True
    ),
    "of a key 2 whose places are released, 3 runs of 2 jobs, 1 worker, crash": case(
        "allow, key 2", runs=3, workers=1, jobs=2, left=Left(crashes=1), callback=True, changed=releasing
    ),
    "of a key 2 then 1, 3 runs of 2 jobs, 1 worker, crash": case(
        "skip, key 2", runs=3, workers=1, jobs=2, left=Left(crashes=1, limits=1), callback=True, then="skip, key 1"
    ),
}
"""Cases whose states are all seen."""

DRAWN = {
    f"{rule} then {then}, 3 runs, 2 workers, crash and duplicate{', callback' if callback else ''}": case(
        f"allow {rule}", runs=3, workers=2, left=WRONG, callback=callback, then=f"allow {then}"
    )
    for rule, then in ((1, 2), (2, 1))
    for callback in (False, True)
}


DRAWN |= {
    f"of a key {limit} then {then}, {rule}, 3 runs of 2 jobs, 2 workers, crash and duplicate": case(
        f"{rule}, key {limit}", runs=3, workers=2, jobs=2, left=WRONG, callback=True, then=f"{rule}, key {then}"
    )
    for limit, then in ((1, 2), (2, 1))
    for rule in ("allow", "skip", "queue")
}


DRAWN |= {
    f"of a rate and {rule}, 3 runs of 2 jobs, 2 workers, crash and duplicate": case(
        f"{rule}, rate 1", runs=3, workers=2, jobs=2, left=Left(crashes=1, copies=1), callback=True
    )
    for rule in ("allow, key 1", "queue", "skip, key 2")
}


DRAWN |= {
    "of a rate that changes, 3 runs of 2 jobs, 2 workers, crash, duplicate and failure": case(
        "allow, slow rate 2", runs=3, workers=2, jobs=2, left=WRONG._replace(failures=1), then="allow, rate 1"
    ),
    "of a key 2, 4 runs of 2 jobs, 3 workers, two duplicates": case(
        "allow, key 2", runs=4, workers=3, jobs=2, left=Left(copies=2), callback=True
    ),
    "of a breaker and a key, 3 runs of 2 jobs, 2 workers, crash, duplicate and two failures": case(
        "allow, key 1, breaker", runs=3, workers=2, jobs=2, left=Left(crashes=1, copies=1, failures=2)
    ),
    "of a breaker, 3 runs of 2 jobs, 2 workers, crash, duplicate, lost answer, failure and refusal": case(
        "allow, breaker", runs=3, workers=2, jobs=2, left=Left(crashes=1, copies=1, losses=1, failures=1, refusals=1)
    ),
    "of a rate and a key, 3 runs of 2 jobs, 2 workers, crash, duplicate and failure": case(
        "allow, key 1, rate 1", runs=3, workers=2, jobs=2, left=Left(crashes=1, copies=1, failures=1), callback=True
    ),
}


DRAWN |= {
    f"of two calls at once, {rule}, {changed.__name__}, 5 runs, 3 workers, crash, duplicate and lost answer": case(
        rule, runs=5, workers=3, jobs=1 if rule == "allow 2" else 2, callback=True,
        left=Left(crashes=1, copies=1, losses=1, failures=1), changed=changed,
    )
    for rule in ("allow 2", "allow, key 2", "queue, key 2")
    for changed in (as_it_is, releasing)
} | {
    "of two calls at once and a limit that is raised, 5 runs, 3 workers, crash and duplicate": case(
        "allow, key 1", runs=5, workers=3, jobs=2, left=WRONG, callback=True, then="allow, key 2"
    ),
}  # fmt: skip


LIMITED = ("allow", "allow, key", "skip, key", "queue, key", "allow 2, key", "allow, rate")

CHANGES = (
    *((rule, None) for rule in (*RULES, *KEYS, *RATES, *BREAKERS) if "a queue of one" not in rule),
    *((f"{rule} {limit}", f"{rule} {3 - limit}") for rule in LIMITED for limit in (1, 2)),
)
"""Rules, and those to which they change. A queue of one may have more (docs/known-gaps.md)."""


def any_case(random: Random) -> Case:
    """A case drawn at random: rules, runs, workers, and what may go wrong. A worker that stalls between reading a rate
    and paying for a start is left out (`early`): its start begins late, beside the next one.
    """
    rule, then = random.choice(CHANGES)
    left = Left(
        crashes=random.randint(0, 2),
        losses=random.randint(0, 1),
        copies=random.randint(0, 1),
        watches=int(random.random() < 0.15),
        early=int("rate" not in rule and random.random() < 0.2),
        failures=random.randint(0, 2),
        limits=int(then is not None),
        refusals=int("breaker" in rule and random.random() < 0.5),
    )
    shared = "key" in rule or (("rate" in rule or "breaker" in rule) and rule.startswith("allow,"))
    return case(
        rule,
        runs=random.randint(3, 5),
        workers=random.randint(2, 3),
        left=left,
        jobs=2 if shared and random.random() < 0.8 else 1,
        callback=random.random() < 0.6,
        then=then,
        changed=random.choice([as_it_is, releasing]),
        pauses=random.random() < 0.15,
    )


def told(name: str, histories: int | None) -> str:
    """Search a case of SEARCHED, draw histories of one of DRAWN, or of a case drawn by its name. Return what was seen.
    Raises AssertionError with the steps to a promise that is not kept.
    """
    of = SEARCHED.get(name) or DRAWN.get(name) or any_case(Random(name))
    explorer = Explorer(of)
    found = explorer() if histories is None else explorer.wander(Random(name), histories)
    assert found.all or histories is not None
    assert found.ends
    return f"limit {name}: {found}"


def main(histories: int) -> None:
    """Search all cases, one on each processor at a time, and print what they find in their order."""
    drawn = dict.fromkeys(DRAWN, histories) | {f"case {number}": 20 for number in range(histories // 10)}
    searches = dict.fromkeys(SEARCHED) | drawn
    with ProcessPoolExecutor() as pool:
        for line in pool.map(told, searches, searches.values()):
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
