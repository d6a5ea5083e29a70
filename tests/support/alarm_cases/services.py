"""What Lambda, DynamoDB and SQS say when there is too little of them, or a function breaks."""

from __future__ import annotations

from importlib import import_module

from tests.support.alarm_cases.parts import Case, throttled
from tests.support.lambda_events import Context, lane_event, scheduled_event
from tests.support.observed import Observed
from tests.support.template import source_of


def errors_of(function: str) -> Case:
    """The real handler without its settings; the dispatcher answers for itself, so its process is killed."""
    event = {"Tick": scheduled_event(), "Sweep": scheduled_event()}.get(function, lane_event([]))
    source = "execute" if function.startswith("Execute") else source_of(function)

    def fail(observed: Observed) -> None:
        def call() -> None:
            if function == "Dispatch":
                raise SystemExit("Runtime exited: out of memory")
            import_module(f"functions.{source}.handler").handler({} if source == "token_claims" else event, Context())

        observed.minutes(3, each=lambda: observed.invoke(function, call))

    return fail


def throttles_of(function: str) -> Case:
    return lambda observed: observed.minutes(4, each=lambda: observed.of_function(function, "Throttles", 1))


def throttles_of_table(output: str, metric: str, index: str | None) -> Case:
    return lambda observed: observed.minutes(2, each=lambda: observed.of_table(output, metric, 80, index))


def throttled_claims(index: str | None) -> Case:
    """What the table did not take of claims, as the client that asked for them saw it."""

    def ask(observed: Observed) -> None:
        client = throttled(observed, jobs=60)
        observed.minutes(2, working=False)
        observed.of_table("JobsTable", "WriteThrottleEvents", client.count, index)

    return ask


def letters_in(output: str) -> Case:
    """Of what somebody has given up."""
    return lambda observed: observed.of_queue(output, "ApproximateNumberOfMessagesVisible", 1)
