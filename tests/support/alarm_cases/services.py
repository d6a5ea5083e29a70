"""A function breaks, or there is too little of it: what follows for those who use it."""

from __future__ import annotations

from importlib import import_module

from tests.support.alarm_cases.maintenance import an_archive_that_does_not_keep_up, lost_to_the_dead_letters
from tests.support.alarm_cases.parts import Case
from tests.support.lambda_events import Context, lane_event, scheduled_event
from tests.support.observed import MAINTENANCE, Observed
from tests.support.template import source_of

QUARTER = 900


def errors_of(function: str) -> Case:
    """The real handler without its settings; the dispatcher answers for itself, so its process is killed."""
    event = scheduled_event() if function in ("Tick", *MAINTENANCE) else lane_event([])
    source = "execute" if function.startswith("Execute") else source_of(function)

    def call() -> None:
        if function == "Dispatch":
            raise SystemExit("Runtime exited: out of memory")
        import_module(f"functions.{source}.handler").handler({} if source == "token_claims" else event, Context())

    def fail(observed: Observed) -> None:
        def invoke() -> None:
            observed.invoke(function, call)
            if function in ("Api", "Callbacks"):
                observed.answered(500)

        if function in MAINTENANCE:
            hours_without(observed, failing=function)
        elif function == "Archive":
            an_archive_that_does_not_keep_up(observed)
        else:
            observed.minutes(6, ticking=function != "Tick", dispatching=function != "Dispatch", each=invoke)

    return fail


def throttles_of(function: str) -> Case:
    """Its invocations are refused."""

    def refuse(observed: Observed) -> None:
        def invoke() -> None:
            observed.of_function(function, "Throttles", 1)
            if function in ("Api", "Callbacks"):
                observed.answered(503)

        if function in MAINTENANCE:
            hours_without(observed, without=function)
        elif function == "Archive":
            an_archive_that_does_not_keep_up(observed)
        elif function.startswith("Execute"):  # each refusal counts as a receive of the messages
            lost_to_the_dead_letters(observed)
        else:
            observed.minutes(6, ticking=function != "Tick", dispatching=function != "Dispatch", each=invoke)

    return refuse


def hours_without(observed: Observed, *, without: str = "", failing: str = "") -> None:
    """One of the functions that a rule starts does not come to its end for hours."""
    for _ in range(16):
        observed.maintain(observed.world.clock.now(), without=without, failing=failing)
        observed.world.clock.advance(QUARTER)


def letters_in(output: str) -> Case:
    """Of what somebody has given up."""
    return lambda observed: observed.of_queue(output, "ApproximateNumberOfMessagesVisible", 1)
