"""Functions that fail or lack concurrency, and the consequences for their callers."""

from importlib import import_module

from duecourse.ports import Depth
from tests.support.alarm_cases.maintenance import a_stream_that_nobody_reads
from tests.support.alarm_cases.parts import Case, fill
from tests.support.lambda_events import Context, lane_event, scheduled_event
from tests.support.observed import MAINTENANCE, Observed
from tests.support.template import source_of

QUARTER = 900


def errors_of(function: str) -> Case:
    """Return the case in which the real handler runs without its settings. The dispatcher reports success in any case,
    so its process is killed.
    """
    event = scheduled_event() if function in ("Tick", *MAINTENANCE) else lane_event([])
    source = "execute" if function.startswith("Execute") else source_of(function)

    def call() -> None:
        if function == "Dispatch":
            raise SystemExit("Runtime exited: out of memory")
        import_module(f"functions.{source}.handler").handler({} if source == "token_claims" else event, Context())

    def fail(observed: Observed) -> None:
        def invoke() -> None:
            observed.invoke(function, call)
            for status in (500, 500) if function in ("Api", "Callbacks") else ():
                observed.answered(status)

        if function in MAINTENANCE:
            hours_without(observed, failing=function)
        elif function == "Archive":
            a_stream_that_nobody_reads(observed, "PROBLEM: Function call failed")
        else:
            fill(observed, 1, "rate(60 seconds)")
            observed.minutes(6, ticking=function != "Tick", dispatching=function != "Dispatch", each=invoke)

    return fail


def throttles_of(function: str) -> Case:
    """Return the case in which its invocations are throttled."""

    def refuse(observed: Observed) -> None:
        def invoke() -> None:
            observed.of_function(function, "Throttles", 1)
            for status in (503, 503) if function in ("Api", "Callbacks") else ():
                observed.answered(status)

        if function in MAINTENANCE:
            hours_without(observed, without=function)
        elif function == "Archive":
            a_stream_that_nobody_reads(observed, "PROBLEM: Function call failed")
        elif function.startswith("Execute"):
            observed.minutes(6, working=False, each=invoke)
        else:
            fill(observed, 1, "rate(60 seconds)")
            observed.minutes(6, ticking=function != "Tick", dispatching=function != "Dispatch", each=invoke)

    return refuse


def hours_without(observed: Observed, *, without: str = "", failing: str = "") -> None:
    """For hours, one of the functions that a rule starts does not end successfully."""
    for _ in range(16):
        observed.maintain(observed.world.clock.now(), without=without, failing=failing)
        for _ in range(QUARTER // 60):
            observed.tick()
            observed.ticks.waiting.clear()
            observed.world.clock.advance(60)


def letters_in(queue: str) -> Case:
    """Return the case in which a queue of failures contains a message."""

    def leave(observed: Observed) -> None:
        observed.queues.set[queue] = Depth(1, 0, 0)
        observed.minutes(20)

    return leave
