"""The metrics of CloudWatch: the queries for them and the interpretation of the responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from duecourse.checks.facts import Lateness, Outcomes, StageFigures
from duecourse.checks.objectives import LATENESS_SECONDS, Objective, objectives
from duecourse.limits import METRICS_NAMESPACE

Key = TypeVar("Key")

STEP_SECONDS = 1800
STEPS = 48
"""The last 24 hours in steps of half an hour. The last step is the current one."""

QUEUE_SECONDS = 300
"""The period of a queue's metrics: a request has one window for all metrics, and a day in minutes
would have many values.
"""

RECENT_SECONDS = 600
"""How old the newest value of a queue may be. SQS reports to CloudWatch every minute while a queue is in use."""

COUNTED: Mapping[str, Sequence[str]] = {
    "RunsSucceeded": ("execute",),
    "AttemptsFailed": ("execute", "reconcile"),
    "RunsDead": ("execute", "reconcile"),
}
"""The functions that count each metric (docs/observability.md)."""

PERCENTILES = ("p50", "p99")

IN_TIME = f"PR(:{LATENESS_SECONDS * 1000})"
"""The percentage of runs that started in time (Amazon CloudWatch User Guide, "CloudWatch statistics definitions":
percentile rank). `Lateness` is in milliseconds.
"""

EMULATED = "local"
"""The stage whose emulator returns the average for a percentile rank."""

STARTS = "SampleCount"
FAILED, REQUESTS = "5xx", "Count"


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric, and the statistic that aggregates its values over a period of `seconds`."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    statistic: str = "Sum"
    seconds: int = 60


def queries(asked: Iterable[Asked]) -> list[dict[str, Any]]:
    """Return the queries of GetMetricData in this order. Their ids are numbered."""
    return [
        {
            "Id": f"m{number}",
            "MetricStat": {
                "Metric": {
                    "Namespace": each.namespace,
                    "MetricName": each.name,
                    "Dimensions": [{"Name": name, "Value": value} for name, value in each.dimensions.items()],
                },
                "Period": each.seconds,
                "Stat": each.statistic,
            },
        }
        for number, each in enumerate(asked)
    ]


def values(asked: Iterable[Key], results: Iterable[Mapping[str, Any]]) -> dict[Key, dict[float, float]]:
    """Return the values of each metric by instant (UTC seconds), from the MetricDataResults of all pages."""
    keys = {f"m{number}": key for number, key in enumerate(asked)}
    found: dict[Key, dict[float, float]] = {key: {} for key in keys.values()}
    for result in results:
        instants = (at.timestamp() for at in result["Timestamps"])
        found[keys[result["Id"]]] |= dict(zip(instants, result["Values"], strict=True))
    return found


def age_of_oldest(queue_url: str, seconds: int = 60) -> Asked:
    """Return the metric for the age of a queue's oldest message in seconds. It has no values while
    the queue is not used.
    """
    name = queue_url.rsplit("/", 1)[-1]
    return Asked("AWS/SQS", "ApproximateAgeOfOldestMessage", {"QueueName": name}, "Maximum", seconds)


def api_metrics(api_id: str, seconds: int = STEP_SECONDS) -> dict[tuple[str, str], Asked]:
    """Return the metrics of the requests to the stage's API (Amazon API Gateway Developer Guide, "Monitoring HTTP API
    metrics").
    """
    asked = {name: Asked("AWS/ApiGateway", name, {"ApiId": api_id}, seconds=seconds) for name in (FAILED, REQUESTS)}
    return {("api", name): each for name, each in asked.items()}


def stage_metrics(stage: str, queue_urls: Iterable[str], api_id: str = "") -> dict[tuple[str, str], Asked]:
    """Return the metrics that `figures` needs for a stage. The dimensions are those of duecourse.telemetry, over all
    lanes. Without an `api_id` the metrics of the API are omitted.
    """
    namespace = METRICS_NAMESPACE.format(stage=stage)

    def ours(function: str, name: str, statistic: str = "Sum") -> Asked:
        return Asked(namespace, name, {"service": "duecourse", "function": function}, statistic, STEP_SECONDS)

    asked = {("Lateness", which): ours("execute", "Lateness", which) for which in (*PERCENTILES, STARTS)}
    if stage != EMULATED:
        asked["Lateness", IN_TIME] = ours("execute", "Lateness", IN_TIME)
    asked |= api_metrics(api_id) if api_id else {}
    asked |= {(name, function): ours(function, name) for name, functions in COUNTED.items() for function in functions}
    return asked | {("oldest", url): age_of_oldest(url, QUEUE_SECONDS) for url in queue_urls}


def first_step(now: float) -> int:
    """Return the start of the first interval (UTC seconds)."""
    return (int(now) // STEP_SECONDS - STEPS + 1) * STEP_SECONDS


def figures(
    found: Mapping[tuple[str, str], Mapping[float, float]], queue_urls: Mapping[str, Sequence[str]], now: float
) -> StageFigures:
    """Convert the values of `stage_metrics` to figures. `queue_urls` has the queues of each lane."""
    median, latest = (found["Lateness", which] for which in PERCENTILES)
    counted = {name: [found[name, function] for function in functions] for name, functions in COUNTED.items()}

    def total(name: str, at: float) -> int:
        return round(sum(one.get(at, 0.0) for one in counted[name]))

    def outcomes(at: float) -> Outcomes:
        failed, dead = total("AttemptsFailed", at), total("RunsDead", at)
        return Outcomes(at, total("RunsSucceeded", at), max(failed - dead, 0), dead)

    def oldest(urls: Sequence[str]) -> float | None:
        newest = [max(known.items()) for url in urls if (known := found["oldest", url])]
        return max((age for at, age in newest if at > now - RECENT_SECONDS), default=None)

    instants = sorted(set().union(*(one for every in counted.values() for one in every)))
    return StageFigures(
        first_step(now),
        [Lateness(at, median[at] / 1000, latest[at] / 1000) for at in sorted(median.keys() & latest.keys())],
        [outcomes(at) for at in instants],
        {lane: oldest(urls) for lane, urls in queue_urls.items()},
        measured(found),
    )


def measured(found: Mapping[tuple[str, str], Mapping[float, float]]) -> tuple[Objective, ...]:
    """Return the objectives from the values of `stage_metrics`. Metrics without values can be missing."""
    of_lateness = (found.get(("Lateness", which), {}) for which in (IN_TIME, STARTS))
    of_requests = (found.get(("api", name), {}) for name in (FAILED, REQUESTS))
    return objectives(*of_lateness, *of_requests)
