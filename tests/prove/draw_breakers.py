"""Plans about jobs with circuit breakers: their targets fail for a while and recover."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.prove.draw_keys import KEY, keyed
from tests.prove.faults import Fault
from tests.prove.plan import Conditions, Operation, Plan
from tests.prove.targets import TARGET

OWN_KEY = "{{job_id}}"

FAILURES = (
    *({"fails": 1}, {"fails": 1}, {"fails": 2, "throttles": 1, "breaks": 1, "hangs": 1, "forbids": 1}),
    *({"hangs": 1}, {"throttles": 1}, {"fails": 3, "refuses": 1}, {"fails": 3, "succeeds": 1}),
)
"""What the calls of a target that is down come to."""


def probes(random: Random, seed: int) -> Plan:
    """Attempts of several jobs with circuit breakers in calm times, so it is known when a breaker is open."""
    names = [f"probe{number}" for number in range(random.randint(1, 3))]
    breaker = _breaker(random, random.choice((KEY, KEY, "{{payload.to}}", None, OWN_KEY)))
    operations = []
    for name in names:
        body = _guarded(random, breaker)
        if random.random() < 0.3:
            body |= {"schedule": random.choice(("rate(3 seconds)", "rate(7 seconds)")), "lasting": 80.0}
        operations.append(Operation(1.0, "create", name, {"body": body}))
    target = _target(random)
    operations += _requests(random, names)
    if (down := target["down"][0][0]) > 5 and random.random() < 0.4:
        operations += _mixed(random, names, down)
        target |= {"seconds": 4.0, "down_outcomes": {"fails": 2, "succeeds": 1}}
        breaker["failures"] = random.choice((2, 3))
    key = _key_of(breaker["key"])
    for _ in range(random.choice((0, 0, 1, 2))):
        at, seconds = round(random.uniform(5, 70), 1), random.choice((5, 20, 40, 2500))
        what, more = random.choice((("hold", {"seconds": seconds}), ("close", {}), ("close", {})))
        operations.append(Operation(at, what, key, more))
    for _ in range(6):
        at = round(random.uniform(8, 85), 1)
        operations.append(Operation(at, *random.choice((("look", random.choice(names)), ("look-key", key)))))
    return Plan(seed, 90.0, _sorted(operations), [], Conditions(), dict.fromkeys(names, target))


def breakers(random: Random, seed: int) -> Plan:
    """Jobs with circuit breakers, some of them with keys and rates, too. Jobs, limits and runs change while runs wait,
    operators hold and close keys, and things go wrong."""
    seconds, names = 90.0, [f"guard{number}" for number in range(random.randint(1, 3))]
    operations = []
    shared = _breaker(random, random.choice((KEY, None)))
    for name in names:
        own = _breaker(random, random.choice((KEY, KEY, "{{payload.to}}", None, OWN_KEY)))
        body = _guarded(random, random.choice((shared, own)))
        body["overlap"] = random.choice(("allow", "allow", "skip", "queue", "newest", {"queue": 2}, {"allow": 2}))
        if random.random() < 0.4 and body["overlap"] != "newest":
            body["concurrency"] = {"key": random.choice((KEY, "erp")), "limit": random.choice((1, 1, 2))}
        if random.random() < 0.3:
            body["rate"] = {"key": random.choice((KEY, "erp")), "per_minute": random.choice((20, 60)), "burst": 1}
        if random.random() < 0.2:
            body |= {"completion": "callback", "completion_seconds": random.choice((10, 20))}
        if random.random() < 0.3:
            body |= {"schedule": random.choice(("rate(3 seconds)", "rate(7 seconds)")), "lasting": seconds}
        body |= random.choice(({}, {}, {}, {}, {"start_deadline_seconds": 30}, {"delivery": "at_most_once"}))
        operations.append(Operation(1.0, "create", name, {"body": body}))
    created = list(operations)
    operations += _requests(random, names)
    for _ in range(random.choice((0, 0, 1, 2, 3, 5))):
        operations += _change(random, random.choice(created), round(random.uniform(6, 60), 1))
    operations.append(Operation(seconds, "limit", KEY, {}))
    paused = {each.job for each in operations if each.what == "pause"}
    operations += [Operation(seconds, "resume", name, {"body": {"catch_up": False}}) for name in sorted(paused)]
    same = _target(random)
    targets = {name: random.choice((same, same, _target(random))) for name in names}
    conditions = Conditions(
        doubled=random.choice((0.0, 0.0, 0.3)),
        skew=random.choice((0.0, 0.0, 5.0)),
        outage=random.choice((None, None, None, (20.0, 35.0))),
        stale=random.choice((None, None, (10.0, 70.0))),
    )
    faults = [Fault.drawn(random) for _ in range(random.choice((0, 0, 1, 1, 2)))]
    if random.random() < 0.25:  # in the call of a probe, often
        faults = [Fault("execute", "Call", shared["failures"] + random.randint(1, 2), "dies_after")]
        failing = {"seconds": 0.5, "down": [[0.0, 60.0]], "down_outcomes": {"fails": 1}}
        targets = dict.fromkeys(names, failing)
    return Plan(seed, seconds + 10, _sorted(operations), faults, conditions, targets)


def guarded(random: Random, seed: int) -> Plan:
    """Workflows whose jobs have circuit breakers, besides keys and rates."""
    plan = keyed(random, seed)
    put = next(each for each in plan.operations if each.what == "put")
    shared = _breaker(random, random.choice((KEY, None)))
    for step in put.more["body"]["jobs"].values():
        if random.random() < 0.8:
            step["job"]["breaker"] = shared
    operations = list(plan.operations)
    if random.random() < 0.4:
        key, at = _key_of(shared["key"]), round(random.uniform(8, 50), 1)
        operations.append(Operation(at, *random.choice((("hold", key, {"seconds": 30}), ("close", key, {})))))
    targets = dict.fromkeys(plan.targets, _target(random))
    return replace(plan, operations=_sorted(operations), targets=targets)


def _breaker(random: Random, key: str | None) -> dict[str, Any]:
    return {"key": key, "failures": random.choice((1, 1, 2, 3)), "open_seconds": random.choice((5, 5, 10, 20))}


def _guarded(random: Random, breaker: dict[str, Any]) -> dict[str, Any]:
    """A job on demand with a circuit breaker."""
    least = random.choice((0, 2))
    retry = {"max_attempts": random.choice((1, 1, 2, 4)), "min_seconds": least, "max_seconds": 10, "backoff": "fixed"}
    fixed: dict[str, Any] = {"schedule": None, "overlap": "allow", "timeout_seconds": random.choice((2, 5))}
    return TARGET | fixed | {"payload": {"to": KEY}, "retry": retry, "breaker": breaker}


def _key_of(template: str | None) -> str:
    """The key of a breaker that several jobs share."""
    return "192.0.2.1" if template is None else KEY


def _requests(random: Random, names: list[str]) -> list[Operation]:
    """Runs that are requested one by one and nearly together."""
    operations = [
        Operation(round(random.uniform(4, 85), 1), "run", random.choice(names), {})
        for _ in range(random.randint(2, 12))
    ]
    for _ in range(random.choice((0, 1, 2))):
        at = round(random.uniform(4, 60), 1)
        operations += [Operation(at, "run", random.choice(names), {}) for _ in range(random.randint(2, 6))]
    return operations


def _mixed(random: Random, names: list[str], down: float) -> list[Operation]:
    """Runs some of which begin after a failure and end after their breaker has opened, and runs after that."""
    moments = [round(down + 0.3 * number, 1) for number in range(8)]
    moments += [round(down + random.uniform(4, 8), 1) for _ in range(3)]
    return [Operation(at, "run", random.choice(names), {}) for at in moments]


def _target(random: Random) -> dict[str, Any]:
    """A target that is down once or twice."""
    begin = random.choice((0.0, round(random.uniform(8, 40), 1)))
    down = [[begin, round(begin + random.choice((10, 30, 60)), 1)]]
    if random.random() < 0.2:
        down.append([round(down[0][1] + 15, 1), round(down[0][1] + 30, 1)])
    usual = random.choice(
        ({"succeeds": 1}, {"succeeds": 1}, {"succeeds": 4, "fails": 1}, {"succeeds": 4, "refuses": 1})
    )
    seconds = random.choice((0.5, 0.5, 3.0, 4.0))
    return {"outcomes": usual, "seconds": seconds, "down": down, "down_outcomes": random.choice(FAILURES)}


def _change(random: Random, of: Operation, at: float) -> list[Operation]:
    """What is done to a job, its runs or its keys."""
    name, later = of.job, round(at + random.choice((0.1, 3.0, 15.0)), 1)
    key = random.choice((KEY, KEY, "192.0.2.1", name))
    match random.choice(("patch", "limit", "again", "pause", "hold", "hold", "close", "close", "run", "run")):
        case "patch":
            changes: tuple[dict[str, Any], ...] = (
                {"breaker": None},
                {"breaker": _breaker(random, random.choice((KEY, None, "other", "{{payload.none}}")))},
                {"payload": {"to": "erp"}},
                {"overlap": random.choice(("skip", "queue", "allow", {"allow": 2}))},
            )
            return [Operation(at, "patch", name, {"body": random.choice(changes)})]
        case "limit":
            breaker = {"failures": random.choice((1, 4)), "open_seconds": random.choice((3, 30))}
            return [Operation(at, "limit", KEY, random.choice(({"breaker": breaker}, {})))]
        case "again":
            return [Operation(at, "delete", name, {}), Operation(later, "create", name, of.more)]
        case "pause":
            back = {"body": {"catch_up": random.random() < 0.3}}
            return [Operation(at, "pause", name, {}), Operation(later, "resume", name, back)]
        case "hold":
            return [Operation(at, "hold", key, {"seconds": random.choice((3, 20, 60, 120))})]
        case "close":
            return [Operation(at, "close", key, {})]
        case _:
            what = random.choice(("redrive", "redrive", "cancel", "backfill"))
            if what == "backfill":
                return [Operation(at, what, name, {"back": 30, "pace": random.choice((1, 2)), "newest_first": False})]
            return [Operation(at, what, name, {"pick": random.randint(0, 5)})]


def _sorted(operations: list[Operation]) -> tuple[Operation, ...]:
    return tuple(sorted(operations, key=lambda each: each.at))
