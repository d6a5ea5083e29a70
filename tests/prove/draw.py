"""Plans drawn from a seed: jobs, what is done to them, and what goes wrong meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.prove import draw_workflows
from tests.prove.draw_focus import FOCUS, lasting
from tests.prove.faults import Fault
from tests.prove.plan import START, Conditions, Operation, Plan
from tests.prove.targets import ADDRESS

JOBS = ("alpha", "beta")
ENDING_SECONDS = 90
"""How long schedules go on after the last fault."""

OPERATIONS = (
    *("run", "run", "run", "redrive", "redrive", "redrive", "cancel", "cancel", "pause", "resume", "patch", "replace"),
    *("delete", "backfill", "skip-next", "console-redrive", "redrive-many"),
)


PAUSE_SECONDS = (15, 40, 75)
TIMED_FROM = 3
"""Of six pauses, three end by themselves, after so many seconds."""


def instant(seconds: float) -> str:
    """UTC seconds as ISO-8601."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def at(text: str) -> float:
    """UTC seconds of an instant as the API writes it, or as it is in a run's id."""
    if "-" in text:
        return datetime.fromisoformat(text).timestamp()
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()


PROFILES = {"plain": 14, "busy": 4, "outage": 6, "callback": 4, "workflow": 20} | dict.fromkeys(FOCUS, 4) | {"crowd": 1}
"""Kinds of plans, with their weights."""


def draw(seed: int, profile: str | None = None) -> Plan:
    """The plan of a seed, of one kind or of any."""
    random = Random(f"{seed}/plan")
    profile = random.choices(list(PROFILES), list(PROFILES.values()))[0] if profile is None else profile
    if profile in FOCUS:
        return lasting(FOCUS[profile](random, seed), lambda seconds: instant(START + seconds))
    seconds = {"busy": 100.0, "outage": 320.0}.get(profile) or random.choice((60.0, 100.0, 160.0))
    end = instant(START + seconds + (30 if profile == "busy" else ENDING_SECONDS))
    operations: list[Operation] = []
    targets: dict[str, dict[str, Any]] = {}
    if profile == "workflow":
        operations = draw_workflows.operations(random, seconds, end)
        targets = {name: _target(random) for name in draw_workflows.steps(operations)}
    for name in JOBS[: {"busy": 1, "workflow": 0}.get(profile, random.randint(1, 2))]:
        begin = round(random.uniform(1, 30), 1)
        operations.append(Operation(begin, "create", name, {"body": body(random, profile, end)}))
        targets[name] = _target(random)
        for _ in range(random.choice((0, 1, 2, 2, 3, 4))):
            what = random.choice(OPERATIONS)
            moment = round(random.uniform(begin + 1, seconds - 2), 1)
            operations.append(Operation(moment, what, name, _more(random, profile, what, end)))
    asking = Random(f"{seed}/asking")
    operations = [_asked(asking, each, number) for number, each in enumerate(operations)]
    operations.sort(key=lambda each: each.at)
    faults = [Fault.drawn(random) for _ in range(random.choice((0, 1, 1, 2, 2, 2)))]
    return Plan(seed, seconds, tuple(operations), faults, _conditions(random, profile, seconds), targets)


def body(random: Random, profile: str, end: str) -> dict[str, Any]:
    """A job, without its id."""
    if profile == "busy":
        schedule: str | None = random.choice(("rate(2 seconds)", "rate(3 seconds)", "rate(4 seconds)"))
    else:
        schedule = random.choice(
            ("rate(20 seconds)", "rate(30 seconds)", "rate(45 seconds)", "*/30 * * * * *", "rate(1 minute)", "at", None)
        )
    made: dict[str, Any] = {"target": {"type": "http", "url": f"{ADDRESS}/"}, "schedule": schedule}
    overlap = random.choice(("skip", "queue", {"queue": 2}, "newest", "replace", "allow", {"allow": 2}))
    made["overlap"] = random.choice(("newest", "replace", "queue")) if profile == "busy" else overlap
    made["timeout_seconds"] = random.choice((2, 5, 10))
    made["retry"] = {
        "max_attempts": random.choice((1, 2, 3)),
        "backoff": "fixed",
        "min_seconds": random.choice((0, 1, 3)),
        "max_seconds": 10,
    }
    if schedule == "at":
        made["schedule"] = instant(at(end) - random.randint(20, 80))
    elif schedule is not None:
        made["end"] = end
    if schedule is not None:
        policy = (
            "run_all"
            if profile == "outage" and random.random() < 0.5
            else random.choice(("skip", "run_once", "run_all"))
        )
        made["missed"] = {
            "policy": policy,
            "grace_seconds": random.choice((5, 30, 60)),
            "max_missed": random.choice((1, 3, 10)),
        }
    if random.random() < 0.2:
        made["delivery"] = "at_most_once"
    if random.random() < 0.15:
        made["start_deadline_seconds"] = random.choice((5, 30))
    if profile == "callback" or random.random() < 0.1:
        made |= {"completion": "callback", "completion_seconds": random.choice((10, 20, 40))}
        if random.random() < 0.4:
            made["heartbeat_seconds"] = random.choice((5, 10))
    if random.random() < 0.1:
        made["priority"] = random.choice(("high", "low"))
    if random.random() < 0.1 and schedule not in (None, "at"):
        made["jitter_seconds"] = 5
    return made


def _asked(random: Random, operation: Operation, number: int) -> Operation:
    """Jobs are created by each route, and requests come twice at the same moment now and then."""
    twice = {"twice": True} if random.random() < 0.2 else {}
    more = operation.more | twice | {"key": f"key{number}"}
    match operation.what, random.choice(("put", "post", "batch")):
        case "create", ("post" | "batch") as how:
            return replace(operation, more=more | {"how": how})
        case "run", _ if twice:
            return replace(operation, more=more)
        case "put" | "create", _ if twice:
            return replace(operation, more=operation.more | twice)
    return operation


def _target(random: Random) -> dict[str, Any]:
    outcomes = random.choice(
        (
            {"succeeds": 1},
            {"succeeds": 3, "fails": 1},
            {"succeeds": 1, "fails": 1, "breaks": 1},
            {"fails": 3, "succeeds": 1, "forbids": 1},
            {"refuses": 1, "succeeds": 1},
            {"fails": 1},
        )
    )
    return {"outcomes": outcomes, "seconds": random.choice((0.1, 1.0, 3.0, 12.0))}


def _more(random: Random, profile: str, what: str, end: str) -> dict[str, Any]:
    pick = {"pick": random.randint(0, 5)}
    match what:
        case "replace":
            return {"body": body(random, profile, end)}
        case "patch":
            changes: tuple[dict[str, Any], ...] = (
                {"payload": {"new": random.randint(1, 9)}},
                {"overlap": random.choice(("skip", "queue", "newest", "replace", "allow", {"allow": 2}))},
                {"retry": {"max_attempts": 2, "min_seconds": 1, "backoff": "fixed", "max_seconds": 5}},
                {"schedule": random.choice(("rate(25 seconds)", "*/30 * * * * *")), "end": end},
                {"priority": random.choice(("high", "normal", "low"))},
            )
            return {"body": random.choice(changes)}
        case "resume":
            return {"body": {"catch_up": random.random() < 0.3}}
        case "backfill":
            back = random.choice((30, 60, 120))
            more = {"only": random.choice(("missing", "failed", "all")), "force_new_key": random.random() < 0.3}
            return {"back": back, "pace": random.choice((1, 2, 5)), "newest_first": random.random() < 0.3, **more}
        case "skip-next":
            return {"body": {"count": random.randint(1, 3)}}
        case "pause" if pick["pick"] >= TIMED_FROM:  # no further draw: the other histories stay as they are
            seconds = PAUSE_SECONDS[pick["pick"] - TIMED_FROM]
            return pick | {"seconds": seconds, "catch_up": seconds == PAUSE_SECONDS[-1]}
    return pick


def _conditions(random: Random, profile: str, seconds: float) -> Conditions:
    def span(longest: float) -> tuple[float, float] | None:
        begin = random.uniform(20, seconds / 2)
        return round(begin, 1), round(min(begin + random.uniform(10, longest), seconds), 1)

    minutes = range(int(seconds // 60))
    outage = span(120.0) if (profile == "busy" and random.random() < 0.6) or random.random() < 0.1 else None
    return Conditions(
        skew=random.choice((0.0, 0.0, 4.0)),
        doubled=random.choice((0.0, 0.0, 0.1, 0.3)),
        lost=tuple(each for each in minutes if random.random() < 0.1),
        double=tuple(each for each in minutes if random.random() < 0.1),
        outage=outage,
        ticks_out=(0.0, round(random.uniform(150, 310), 1)) if profile == "outage" else None,
        stale=span(60.0) if random.random() < 0.2 else None,
    )
