"""What is searched: small graphs with what may go wrong, larger ones at random, changed protocols that must fail."""

from dataclasses import replace
from typing import Any

from duecourse.domain.workflows.graph import CarriedOver, Graph, Items, Rule, StepOutcome
from tests.support.workflow_model.values import Case, Left
from tests.support.workflows import graph_of


class InPairs(Graph):
    """Ends in parts of two steps."""

    part_steps = 2


class InThrees(Graph):
    """In parts of three."""

    part_steps = 3


class OneByOne(Graph):
    """Each end in a part of its own."""

    part_steps = 1


def divided(kind: type[Graph], steps: dict[str, tuple[str, ...]], **rules: dict[str, Any]) -> Graph:
    """A graph whose ends stand in parts of that size."""
    return kind(graph_of(steps, **rules).steps)


def items(kind: type[Graph], count: int, at_once: int, max_failed: int = 0) -> Graph:
    """The items of a list, each with a job of its own, which the model needs to tell them apart."""
    steps = graph_of(dict.fromkeys("abcdefgh"[:count], ())).steps
    return kind(steps, items=Items(("",) * count, at_once, max_failed))


def rerun(graph: Graph, given: dict[str, StepOutcome], first: tuple[str, ...]) -> Graph:
    """A rerun of it that starts with `first`, where the others ended as `carried_over`."""
    steps = tuple(replace(each, carried_over=_given(given.get(each.id))) for each in graph.steps)
    return type(graph)(steps, rerun_of="nightly.20251121T120000Z", rerun_from=first, timed=False)


def _given(end: StepOutcome | None) -> CarriedOver | None:
    return None if end is None else CarriedOver(end, "20251121T120000Z")


CHAIN = graph_of({"a": (), "b": ("a",)})
CHAIN_3 = divided(InPairs, {"a": (), "b": ("a",), "c": ("b",)})
JOIN = divided(OneByOne, {"a": (), "b": (), "c": ("a", "b")})
DIAMOND = divided(InPairs, {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")})
CHAIN_FAILURE = graph_of({"a": (), "b": ("a",)}, b={"when": Rule.ANY_FAILURE})
ONE = graph_of({"a": ()})
MAY_FAIL = divided(OneByOne, {"a": (), "b": ("a",)}, a={"may_fail": True})
ANY_FAILURE = divided(OneByOne, {"a": (), "b": ("a",), "c": ("b",)}, b={"when": Rule.ANY_FAILURE})
RERUN = rerun(DIAMOND, {"a": StepOutcome.SUCCEEDED, "c": StepOutcome.FAILED}, ("b",))
MANY = divided(
    InThrees,
    {
        "a": (),
        "b": (),
        "c": ("a", "b"),
        "d": ("a", "b"),
        "e": ("c", "d"),
        "f": ("c", "d"),
        "g": ("e",),
        "h": ("e", "f", "g"),
        "i": ("h",),
    },
    b={"may_fail": True},
    d={"when": Rule.ANY_FAILURE},
    e={"when": Rule.ANY_SUCCESS},
    f={"when": Rule.NONE_FAILED},
    h={"when": Rule.ALL_DONE},
)
WIDE = divided(InThrees, dict.fromkeys("abcdefgh", ()) | {"z": tuple("abcdefgh")}, z={"when": Rule.ALL_DONE})


BESIDE = divided(OneByOne, {"a": (), "b": ("a",), "c": (), "d": ("b", "c")}, d={"when": Rule.ALL_DONE})
"""After b, which a failure of a skips, and beside it after c: d waits for a all the same once that is redriven."""

BESIDE_DONE = divided(OneByOne, {"a": (), "b": ("a",), "c": (), "d": ("b", "c")}, b={"when": Rule.ALL_DONE})
"""The same where b has run after the failure."""


def joins(rule: Rule) -> Graph:
    """A join over two parts."""
    return divided(OneByOne, {"a": (), "b": (), "c": ("a", "b")}, c={"when": rule})


BEGUN_AGAIN = Case("one", ONE, Left(failures=2, run_redrives=1, crashes=1), workers=1)

SHORT = (
    Case("chain of 2", CHAIN, Left(crashes=1, copies=1)),
    Case("chain of 2", CHAIN, Left(failures=1, redrives=1)),
    Case("chain of 2", CHAIN, Left(cancels=1, crashes=1)),
    Case("chain of 2", CHAIN, Left(pauses=1, cancels=1)),
    BEGUN_AGAIN,
    Case("join over 2 parts", JOIN, Left(copies=1)),
    Case("join over 2 parts", JOIN, Left(crashes=1, copies=1), workers=1),
    Case("rerun of a diamond", RERUN, Left(failures=1, redrives=1), workers=1),
    Case("3 items, 1 at once", items(InPairs, 3, 1), Left(crashes=1, copies=1), workers=1),
    Case("3 items, 2 at once", items(OneByOne, 3, 2), Left(copies=1)),
    Case("2 items, 1 may fail", items(OneByOne, 2, 1, 1), Left(failures=2, redrives=1), workers=1),
    Case("2 items, 1 may fail", items(InPairs, 2, 2, 1), Left(failures=1)),
)
"""For `make test`: seconds."""

FULL = (
    *SHORT,
    Case("chain of 2", CHAIN, Left(), workers=3),
    Case("chain of 2", CHAIN, Left(crashes=1), workers=3),
    Case("chain of 2", CHAIN, Left(crashes=2)),
    Case("chain of 2", CHAIN, Left(refusals=2, crashes=1)),
    Case("chain of 2", CHAIN, Left(retries=1, crashes=1)),
    Case("chain of 2", CHAIN, Left(failures=1, redrives=1, cancels=1)),
    Case("chain of 2, any_failure", CHAIN_FAILURE, Left(failures=1, redrives=1, cancels=1)),
    Case("chain of 2", CHAIN, Left(failures=1, run_redrives=1, crashes=1), workers=1),
    Case("chain of 2", CHAIN, Left(failures=2, run_redrives=1, refusals=1, copies=1), workers=1),
    Case("chain of 2", CHAIN, Left(failures=1, returns=1)),
    Case("chain of 2", CHAIN, Left(failures=1, redrives=1, copies=1), workers=1),
    Case("chain of 2", CHAIN, Left(deadlines=1, run_redrives=1)),
    Case("chain of 2", CHAIN, Left(deadlines=1, failures=1, redrives=1)),
    Case("chain of 2", CHAIN, Left(pauses=1, crashes=1)),
    Case("chain of 2", CHAIN, Left(pauses=1, deadlines=1, run_redrives=1), workers=1),
    Case("chain of 3", CHAIN_3, Left(failures=1, redrives=1, crashes=1), workers=1),
    Case("chain of 3", CHAIN_3, Left(failures=1, redrives=1)),
    Case("chain of 3", CHAIN_3, Left(crashes=1)),
    Case("chain of 3", CHAIN_3, Left(cancels=1, copies=1, crashes=1), workers=1),
    Case("chain of 3", CHAIN_3, Left(deadlines=1, run_redrives=1, crashes=1), workers=1),
    Case("chain of 2", CHAIN, Left(deadlines=1, run_redrives=1, cancels=1), workers=1),
    Case("chain of 2, the first may fail", MAY_FAIL, Left(failures=1, redrives=1)),
    Case("chain of 3, any_failure", ANY_FAILURE, Left(failures=1, redrives=1)),
    Case("chain of 3, any_failure", ANY_FAILURE, Left(failures=1, redrives=1, cancels=1, copies=1), workers=1),
    *(Case(f"join, {rule}", joins(rule), Left(failures=2)) for rule in Rule),
    *(Case(f"join, {rule}", joins(rule), Left(failures=1, redrives=1, crashes=1), workers=1) for rule in Rule),
    *(Case(f"join, {rule}", joins(rule), Left(step_cancels=1)) for rule in Rule),
    Case("join over 2 parts", JOIN, Left(crashes=1)),
    Case("join over 2 parts", JOIN, Left(), workers=3),
    Case("join over 2 parts", JOIN, Left(cancels=1)),
    Case("diamond", DIAMOND, Left()),
    Case("diamond", DIAMOND, Left(failures=1)),
    Case("diamond", DIAMOND, Left(crashes=1)),
    Case("diamond", DIAMOND, Left(copies=1)),
    Case("diamond", DIAMOND, Left(cancels=1), workers=1),
    Case("diamond", DIAMOND, Left(crashes=1), workers=1),
    Case("diamond", DIAMOND, Left(failures=1, redrives=1), workers=1),
    Case("rerun of a diamond", RERUN, Left(crashes=1)),
    Case("rerun of a diamond", RERUN, Left(cancels=1)),
    Case("3 items, 2 at once", items(OneByOne, 3, 2), Left(crashes=1)),
    Case("4 items, 1 at once", items(InPairs, 4, 1), Left(crashes=1, copies=1), workers=1),
    Case("4 items, 2 at once", items(InPairs, 4, 2), Left(refusals=1), workers=1),
    Case("3 items, 1 at once", items(InPairs, 3, 1), Left(failures=1, redrives=1, crashes=1), workers=1),
    Case("3 items, 1 at once", items(InPairs, 3, 1), Left(failures=1, run_redrives=1, crashes=1), workers=1),
    Case("3 items, 1 at once", items(OneByOne, 3, 1), Left(failures=1, redrives=1)),
    Case("3 items, 1 at once", items(InPairs, 3, 1), Left(cancels=1)),
    Case("3 items, 1 at once", items(InPairs, 3, 1), Left(deadlines=1, run_redrives=1, crashes=1), workers=1),
    Case("2 items, 1 may fail", items(OneByOne, 2, 2, 1), Left(failures=2, redrives=1)),
    Case("2 items, 1 may fail", items(OneByOne, 2, 2, 1), Left(failures=2, run_redrives=1, crashes=1), workers=1),
    Case("3 items, 1 at once, 1 may fail", items(InPairs, 3, 1, 1), Left(failures=2, redrives=1), workers=1),
    Case("3 items, 1 at once, 1 may fail", items(InPairs, 3, 1, 1), Left(failures=2, cancels=1), workers=1),
    Case("3 items, 2 at once, 2 may fail", items(InPairs, 3, 2, 2), Left(failures=2, step_cancels=1), workers=1),
)
"""For `make model`: minutes."""

EVERYTHING = Left(
    crashes=2, copies=2, refusals=1, failures=2, retries=1, redrives=2, run_redrives=1, returns=1, deadlines=1, pauses=1
)
CANCELLED = Left(crashes=2, copies=2, failures=1, redrives=1, cancels=1, step_cancels=1, pauses=1)

WALKS = (
    Case("nine jobs, every rule", MANY, EVERYTHING, workers=4),
    Case("nine jobs, every rule", MANY, CANCELLED, workers=4),
    Case("eight to one", WIDE, EVERYTHING, workers=6),
    Case("join over 2 parts", JOIN, EVERYTHING, workers=3),
    Case("8 items, 2 at once", items(InThrees, 8, 2), EVERYTHING, workers=4),
    Case("8 items, 3 at once", items(InThrees, 8, 3), CANCELLED, workers=4),
    Case("8 items, 3 at once, 1 may fail", items(InThrees, 8, 3, 1), EVERYTHING, workers=4),
)
"""At random."""

_REDRIVEN = Case("chain of 2", CHAIN, Left(failures=1, redrives=1))
_BESIDE = Case("join, all_done", joins(Rule.ALL_DONE), Left(failures=1, redrives=1))
_CRASHED = Case("chain of 2", CHAIN, Left(crashes=1), workers=1)
_CANCELLED = Case("chain of 2", CHAIN, Left(cancels=1))
_OVERDUE_TWICE = Case("chain of 2", CHAIN, Left(deadlines=1, run_redrives=1, cancels=1))
_OVERDUE = Case("chain of 2", CHAIN, Left(deadlines=1, run_redrives=1, crashes=1), workers=1)

MUTANTS = {
    "a start does not ask whether its workflow's run is over": _CANCELLED,
    "a start asks whether its workflow's run is over, then for the ends": Case(
        "chain of 2", CHAIN, Left(failures=1, redrives=1, cancels=1)
    ),
    "who was stopped does not ask whether its workflow's run is over": _OVERDUE_TWICE,
    "who is due is not cancelled with the workflow's run": _CANCELLED,
    "only who is due is cancelled with the workflow's run": Case(
        "chain of 2, any_failure", CHAIN_FAILURE, Left(failures=1, redrives=1, cancels=1)
    ),
    "who was cancelled starts itself, whatever has become of its workflow's run": Case("one", ONE, Left(cancels=1)),
    "who was cancelled with a workflow's run that is back does not start itself": _OVERDUE,
    "who waits is dropped without a look at its record": _OVERDUE,
    "an end is noted before its record is written": _CRASHED,
    "the message is deleted before what follows is sent": _CRASHED,
    "starts are sent before the end is noted": Case("chain of 2", CHAIN),
    "other parts are read before the own end is noted": Case("join over 2 parts", JOIN),
    "an end is written over whatever it was": _REDRIVEN,
    "a step runs again before its end is withdrawn": _BESIDE,
    "an end before one that is withdrawn counts": Case(
        "chain of 2 beside one, then one", BESIDE, Left(failures=1, redrives=1)
    ),
    "only the jobs directly after a redriven one are looked at": Case(
        "chain of 2 beside one, then one", BESIDE_DONE, Left(failures=1, redrives=1)
    ),
    "the parts are not marked before an end is withdrawn": Case(
        "chain of 2 beside one, then one", BESIDE, Left(failures=1, redrives=1)
    ),
    "a redriven success does not have its workflow's run evaluated": _REDRIVEN,
    "a death by steps is not looked at once more": _REDRIVEN,
    "a success is not looked at once more": Case(
        "chain of 2, the first may fail", MAY_FAIL, Left(failures=1, redrives=1)
    ),
    "who begins a redriven run again redrives who has died since": BEGUN_AGAIN,
    "a skipped step stays skipped": _REDRIVEN,
    "an end that was noted before opens one item": Case(
        "4 items, 2 at once", items(InPairs, 4, 2), Left(crashes=1), workers=2
    ),
    "who begins a run with nothing to start does not evaluate it": _REDRIVEN,
    "a failed item fails its step, whatever may fail": Case(
        "2 items, 1 may fail", items(OneByOne, 2, 1, 1), Left(failures=1), workers=1
    ),
    "an item too many may fail": Case("2 items, 1 may fail", items(OneByOne, 2, 1, 1), Left(failures=2), workers=1),
    "a step fails before all of its items have ended": Case(
        "3 items, 1 may fail", items(OneByOne, 3, 1, 1), Left(failures=2), workers=1
    ),
}
"""Changed protocols, and a case in which each of them breaks a promise."""
