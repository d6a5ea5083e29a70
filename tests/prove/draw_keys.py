"""Plans about jobs that share a key: the number of their active runs, or the rate of their attempts, is limited."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.prove.draw_workflows import WORKFLOW
from tests.prove.faults import Fault
from tests.prove.plan import Conditions, Operation, Plan
from tests.prove.targets import RETRY_AFTER_SECONDS, TARGET

KEY = "crm"


def keys(random: Random, seed: int) -> Plan:
    """Runs of several jobs that share the limit of a key, which changes meanwhile."""
    limit, seconds = random.choice((1, 1, 2)), 60.0
    names = [f"key{number}" for number in range(random.randint(2, 3))]
    operations = []
    for name in names:
        overlap = random.choice(("allow", "allow", "skip", "queue", {"allow": 2}))
        body: dict[str, Any] = TARGET | {"schedule": None, "overlap": overlap, "timeout_seconds": 10}
        body["concurrency"] = {"key": random.choice((KEY, "{{payload.to}}")), "limit": limit}
        body["payload"] = {"to": KEY}
        retry = {"max_attempts": random.choice((1, 2, 3)), "min_seconds": random.choice((0, 2)), "max_seconds": 5}
        body["retry"] = retry | {"backoff": "fixed"}
        if random.random() < 0.4:
            body |= {"completion": "callback", "completion_seconds": random.choice((10, 20))}
        if random.random() < 0.3:
            body |= {"schedule": "rate(7 seconds)", "lasting": seconds}
        operations.append(Operation(1.0, "create", name, {"body": body}))
    at = 4.0
    for _ in range(random.randint(5, 10)):
        what = random.choice(("run", "run", "run", "run", "redrive", "cancel"))
        operations.append(Operation(round(at, 1), what, random.choice(names), {"pick": random.randint(0, 5)}))
        at += random.choice((0.1, 0.1, 1.0, 3.0))
    for _ in range(random.choice((0, 1, 2))):
        moment, number = round(random.uniform(3, 40), 1), random.choice((None, 0, 1, 2))
        operations.append(Operation(moment, "limit", KEY, {"concurrency": number}))
    operations += _restored(operations, seconds)
    if random.random() < 0.3:
        what = random.choice(("delete", "pause"))
        operations.append(Operation(round(random.uniform(5, at), 1), what, random.choice(names), {}))
    target = {"outcomes": {"fails": random.choice((0, 1)), "succeeds": 2}, "seconds": random.choice((1.0, 3.0, 9.0))}
    conditions = Conditions(doubled=random.choice((0.0, 0.3)), skew=random.choice((0.0, 0.0, 4.0)))
    faults = [Fault.drawn(random)] if random.random() < 0.3 else []
    return Plan(seed, seconds + 10, _sorted(operations), faults, conditions, dict.fromkeys(names, target))


def places(random: Random, seed: int) -> Plan:
    """Runs that wait for a place of a key in calm times, while others wait for their next attempt."""
    limit = random.choice((1, 1, 2))
    names = [f"place{number}" for number in range(random.randint(1, 3))]
    operations = []
    for name in names:
        body: dict[str, Any] = TARGET | {"schedule": None, "overlap": "allow", "timeout_seconds": 20}
        body["concurrency"] = {"key": KEY, "limit": limit}
        body["retry"] = {"max_attempts": 2, "backoff": "fixed", "min_seconds": 12, "max_seconds": 12}
        operations.append(Operation(1.0, "create", name, {"body": body}))
    step = random.choice((0.1, 1.0, 3.0))
    operations += [
        Operation(round(6 + number * step, 1), "run", random.choice(names), {})
        for number in range(random.randint(3, 6))
    ]
    if random.random() < 0.3:
        at = round(random.uniform(8, 20), 1)
        operations.append(Operation(at, "limit", KEY, {"concurrency": random.choice((1, 2, 3))}))
    target = {"outcomes": {"fails": 1, "succeeds": 2}, "seconds": random.choice((1.0, 3.0, 6.0)), "always": True}
    return Plan(seed, 60.0, _sorted(operations), [], Conditions(), dict.fromkeys(names, target))


def allowed(random: Random, seed: int) -> Plan:
    """Runs of a job that limits its active runs, in calm times. Some die, are redriven, and take other places."""
    body: dict[str, Any] = TARGET | {
        "schedule": None,
        "overlap": {"allow": random.choice((2, 3))},
    }  # a lane has four workers
    body |= {"timeout_seconds": 20, "retry": {"max_attempts": 1}}
    operations = [Operation(1.0, "create", "place", {"body": body})]
    seconds, at = random.choice((3.0, 5.0)), 6.0
    for _ in range(random.randint(6, 14)):
        what = random.choice(("run", "run", "redrive"))
        operations.append(Operation(round(at, 1), what, "place", {"pick": random.randint(0, 2)}))
        at += random.choice((0.1, 1.0, seconds - 0.5, seconds + 0.5))
    target = {"outcomes": {"fails": 1, "succeeds": 1}, "seconds": seconds, "always": True}
    return Plan(seed, 70.0, _sorted(operations), [], Conditions(), {"place": target})


def wide(random: Random, seed: int) -> Plan:
    """Many runs with large limits, which change meanwhile: workers call several runs at once, and write that places are
    free."""
    seconds, names = 90.0, [f"wide{number}" for number in range(random.randint(1, 3))]
    limit, operations = random.choice((3, 5, 5, 6, 8)), []
    for name in names:
        body: dict[str, Any] = TARGET | {"schedule": None, "timeout_seconds": 10, "payload": {"to": KEY}}
        body["overlap"] = random.choice(("allow", "allow", "queue", {"queue": 3}, {"allow": 5}, {"allow": 6}))
        key = {"key": random.choice((KEY, "{{payload.to}}")), "limit": random.choice((limit, limit, 2))}
        if random.random() < 0.8:
            body["concurrency"] = key | {"priority": random.choice((0, 0, 5))}
        retry = {"max_attempts": random.choice((1, 2)), "min_seconds": random.choice((0, 2)), "max_seconds": 5}
        body["retry"] = retry | {"backoff": "fixed"}
        if random.random() < 0.5:
            body |= {"completion": "callback", "completion_seconds": random.choice((10, 20))}
        if random.random() < 0.2:
            body["rate"] = {"key": KEY, "per_minute": random.choice((120, 600)), "burst": random.choice((1, 5))}
        if random.random() < 0.2:
            body["breaker"] = {"key": KEY, "failures": random.choice((1, 3)), "open_seconds": 5}
        operations.append(Operation(1.0, "create", name, {"body": body}))
    created = list(operations)
    for _ in range(random.randint(1, 3)):
        at = random.uniform(4, 40)
        for _ in range(random.randint(4, 14)):
            operations.append(Operation(round(at, 1), "run", random.choice(names), {}))
            at += random.choice((0.0, 0.0, 0.1, 0.5))
    for _ in range(random.choice((0, 1, 2, 4, 6))):
        of, moment = random.choice(created), round(random.uniform(6, 60), 1)
        if random.random() < 0.6:
            number = random.choice((None, 0, 1, 3, 5, 9))
            operations.append(Operation(moment, "limit", KEY, {"concurrency": number}))
        else:
            operations += _edit(random, of, moment)
    for _ in range(random.choice((0, 0, 1, 3))):
        operations.append(_command(random, names, round(random.uniform(6, 60), 1)))
    operations += _restored(operations, seconds)
    operations += [Operation(seconds, "resume", name, {"body": {"catch_up": False}}) for name in names]
    outcomes = random.choice(({"succeeds": 1}, {"succeeds": 2, "fails": 1}))
    target = {"outcomes": outcomes, "seconds": random.choice((0.5, 3.0, 8.0))}
    conditions = Conditions(
        doubled=random.choice((0.0, 0.0, 0.3)),
        skew=random.choice((0.0, 0.0, 4.0)),
        outage=random.choice((None, None, None, (20.0, 35.0))),
        stale=random.choice((None, None, (10.0, 50.0))),
    )
    faults = [Fault.drawn(random) for _ in range(random.choice((0, 0, 1, 1, 2)))]
    return Plan(seed, seconds + 10, _sorted(operations), faults, conditions, dict.fromkeys(names, target))


def _command(random: Random, names: list[str], at: float) -> Operation:
    """What an operator requests for a key, or for many runs of a job."""
    match random.choice(("hold", "close", "release", "cancel-many")):
        case "hold":
            return Operation(at, "hold", KEY, {"seconds": random.choice((3, 20))})
        case "close":
            return Operation(at, "close", KEY, {})
        case "release":
            return Operation(at, "release", KEY, {"pick": random.randint(0, 5)})
        case _:
            states = random.choice((["QUEUED"], ["QUEUED"], ["QUEUED", "RETRYING", "WAITING"], ["RUNNING"]))
            return Operation(at, "cancel-many", random.choice(names), {"state": states})


def paces(random: Random, seed: int) -> Plan:
    """Attempts of several jobs that share the rate of a key in calm times, so the time of each start is known."""
    names = [f"pace{number}" for number in range(random.randint(1, 3))]
    per_minute, burst = random.choice((20, 60, 120)), random.choice((1, 1, 2, 3))
    operations = []
    for name in names:
        body = _rated(random, per_minute)
        body["rate"] |= {"burst": burst} if random.random() < 0.9 else {}
        operations.append(Operation(1.0, "create", name, {"body": body}))
    operations += _requests(random, names)
    outcomes = random.choice(({"succeeds": 1}, {"succeeds": 2, "fails": 1}, {"succeeds": 6, "throttles": 1}))
    target = {"outcomes": outcomes, "seconds": 0.5}
    return Plan(seed, 70.0, _sorted(operations), [], Conditions(), dict.fromkeys(names, target))


def rates(random: Random, seed: int) -> Plan:
    """Attempts of several jobs that share the rate of a key. Some fail, ask for a pause of the key, or are redriven;
    jobs and rates change meanwhile."""
    seconds, names = 70.0, [f"rate{number}" for number in range(random.randint(1, 3))]
    usual = random.choice((20, 60, 120))
    operations = []
    for name in names:
        body = _rated(random, random.choice((usual, usual, 30, 120)))
        body["overlap"] = random.choice(("allow", "allow", "skip", "queue", "newest", {"allow": 2}))
        if random.random() < 0.3 and body["overlap"] != "newest":
            body["concurrency"] = {"key": KEY, "limit": random.choice((1, 2))}
        if random.random() < 0.3:
            body |= {"completion": "callback", "completion_seconds": random.choice((10, 20))}
        if random.random() < 0.3:
            body |= {"schedule": random.choice(("rate(3 seconds)", "rate(7 seconds)")), "lasting": seconds}
        body |= random.choice(({}, {}, {}, {}, {"start_deadline_seconds": 15}, {"delivery": "at_most_once"}))
        operations.append(Operation(1.0, "create", name, {"body": body}))
    operations += _requests(random, names) + _changes(random, operations)
    for name in {each.job for each in operations if each.what == "pause"}:
        operations.append(Operation(seconds, "resume", name, {"body": {"catch_up": False}}))
    outcomes = random.choice(
        ({"succeeds": 1}, {"succeeds": 2, "fails": 1}, {"succeeds": 2, "throttles": 1, "fails": 1})
    )
    target = {"outcomes": outcomes, "seconds": random.choice((0.5, 3.0, RETRY_AFTER_SECONDS))}
    conditions = Conditions(
        doubled=random.choice((0.0, 0.0, 0.3)),
        skew=random.choice((0.0, 0.0, 4.0)),
        outage=random.choice((None, None, (20.0, 35.0))),
    )
    faults = [Fault.drawn(random) for _ in range(random.choice((0, 1, 1, 2)))]
    return Plan(seed, seconds + 10, _sorted(operations), faults, conditions, dict.fromkeys(names, target))


def edits(random: Random, seed: int) -> Plan:
    """Runs that wait for a place of a key or for a rate while their jobs, their limits and they themselves change."""
    seconds, names = 80.0, [f"edit{number}" for number in range(random.randint(1, 3))]
    operations = [Operation(1.0, "create", name, {"body": _limited(random)}) for name in names]
    operations += _requests(random, names)
    for _ in range(random.randint(2, 7)):
        of, at = random.choice(operations[: len(names)]), round(random.uniform(6, 45), 1)
        operations += _edit(random, of, at)
    operations += _restored(operations, seconds)
    operations += [Operation(seconds, "resume", name, {"body": {"catch_up": False}}) for name in names]
    outcomes = random.choice(
        ({"succeeds": 1}, {"succeeds": 2, "fails": 1}, {"succeeds": 2, "throttles": 1, "fails": 1})
    )
    target = {"outcomes": outcomes, "seconds": random.choice((0.5, 3.0, 8.0))}
    conditions = Conditions(
        doubled=random.choice((0.0, 0.0, 0.3)),
        skew=random.choice((0.0, 0.0, 4.0)),
        outage=random.choice((None, None, None, (20.0, 35.0))),
        stale=random.choice((None, None, (10.0, 50.0))),
        double=random.choice(((), (0, 1))),
    )
    faults = [Fault.drawn(random) for _ in range(random.choice((0, 0, 1, 1, 2)))]
    return Plan(seed, seconds + 10, _sorted(operations), faults, conditions, dict.fromkeys(names, target))


def _limited(random: Random) -> dict[str, Any]:
    """A job with a key, a rate, or both."""
    body = _rated(random, random.choice((20, 60, 120)))
    body["overlap"] = random.choice(("allow", "allow", "skip", "queue", {"queue": 2}, {"allow": 2}))
    key = {"key": random.choice((KEY, "{{payload.to}}")), "limit": random.choice((1, 1, 2))}
    body["concurrency"] = key | {"priority": random.choice((0, 0, 5))}
    if random.random() < 0.6:
        del body["rate"]
    elif random.random() < 0.3:
        del body["concurrency"]
    if random.random() < 0.3:
        body |= {"completion": "callback", "completion_seconds": random.choice((10, 20))}
    if random.random() < 0.3:
        body |= {"schedule": random.choice(("rate(3 seconds)", "rate(7 seconds)")), "lasting": 80.0}
    return body


def _edit(random: Random, of: Operation, at: float) -> list[Operation]:
    """A change of a job, of its runs or of the limits of its key."""
    name, later = of.job, round(at + random.choice((0.1, 3.0, 10.0)), 1)
    kind = random.choice(("patch", "patch", "patch", "limit", "again", "pause", "run", "run", "backfill"))
    match kind:
        case "patch":
            key = {"key": random.choice((KEY, "erp", "{{payload.to}}", "{{payload.none}}")), "limit": 1}
            changes: tuple[dict[str, Any], ...] = (
                {"concurrency": key | {"limit": random.choice((1, 2, 3)), "priority": random.choice((0, 9))}},
                {"concurrency": {"key": KEY, "limit": 1, "priority": random.choice((0, 9))}},
                {"concurrency": None},
                {"rate": None},
                {"rate": {"key": random.choice((KEY, "erp")), "per_minute": 120, "burst": 1}},
                {"payload": {"to": "erp"}},
                {"overlap": random.choice(("skip", "queue", "allow", {"allow": 1}, {"allow": 2}))},
                {"priority": random.choice(("high", "low"))},
            )
            return [Operation(at, "patch", name, {"body": random.choice(changes)})]
        case "limit":
            return [Operation(at, "limit", KEY, {"concurrency": random.choice((0, 1, 3))})]
        case "again":
            return [Operation(at, "delete", name, {}), Operation(later, "create", name, of.more)]
        case "pause":
            return [
                Operation(at, "pause", name, {}),
                Operation(later, "resume", name, {"body": {"catch_up": random.random() < 0.3}}),
            ]
        case "backfill":
            asked = {"back": random.choice((30, 60)), "pace": random.choice((1, 2)), "newest_first": False}
            return [Operation(at, "backfill", name, asked | random.choice(({}, {"at_once": 1})))]
        case _:
            what = random.choice(("redrive", "redrive", "cancel", "run"))
            return [Operation(at, what, name, {"pick": random.randint(0, 5)})]


def keyed(random: Random, seed: int) -> Plan:
    """Workflows whose jobs have keys and rates, and are cancelled or redriven while they wait for these."""
    names = [f"m{number}" for number in range(random.randint(2, 5))]
    jobs: dict[str, Any] = {}
    for number, name in enumerate(names):
        job = {each: value for each, value in _limited(random).items() if each not in ("schedule", "lasting")}
        job["retry"] |= {"max_attempts": random.choice((1, 1, 2))}
        before = sorted(random.sample(names[:number], min(number, random.choice((0, 1, 1)))))
        jobs[name] = {"job_id": name, "job": job} | ({"after": before, "when": "all_done"} if before else {})
    body = {"schedule": None, "deadline_seconds": random.choice((60, 300)), "overlap": "allow", "jobs": jobs}
    operations = [Operation(1.0, "put", WORKFLOW, {"body": body})]
    operations += [
        Operation(7.0 + random.choice((0.1, 2.0)) * each, "run", WORKFLOW, {}) for each in range(random.randint(1, 4))
    ]
    for _ in range(random.randint(1, 4)):
        at, pick = round(random.uniform(8, 40), 1), {"pick": random.randint(0, 5)}
        what = random.choice(("cancel", "cancel", "redrive", "rerun", "step", "step", "limit", "pause", "delete"))
        match what:
            case "step":
                operations.append(
                    Operation(at, random.choice(("redrive", "cancel", "run")), random.choice(names), pick)
                )
            case "limit":
                operations.append(Operation(at, "limit", KEY, {"concurrency": random.choice((0, 1, 2))}))
            case "pause":
                name = random.choice(names)
                operations.append(Operation(at, "pause", name, {}))
                operations.append(Operation(at + 15, "resume", name, {"body": {"catch_up": False}}))
            case _:
                operations.append(Operation(at, what, WORKFLOW, pick))
    operations += _restored(operations, 60.0)
    outcomes = random.choice(({"succeeds": 1}, {"succeeds": 2, "fails": 1}))
    target = {"outcomes": outcomes, "seconds": random.choice((0.5, 3.0, 8.0))}
    faults = [Fault.drawn(random) for _ in range(random.choice((0, 0, 1, 1)))]
    conditions = Conditions(doubled=random.choice((0.0, 0.0, 0.3)), skew=random.choice((0.0, 0.0, 4.0)))
    return Plan(seed, 80.0, _sorted(operations), faults, conditions, dict.fromkeys(names, target))


def _rated(random: Random, per_minute: int) -> dict[str, Any]:
    """A job on demand with a rate."""
    retry = {"max_attempts": random.choice((1, 2, 3)), "min_seconds": random.choice((0, 2)), "max_seconds": 10}
    rate = {
        "key": random.choice((KEY, "{{payload.to}}")),
        "per_minute": per_minute,
        "burst": random.choice((1, 1, 2, 3)),
    }
    fixed: dict[str, Any] = {"schedule": None, "overlap": "allow", "timeout_seconds": 10, "payload": {"to": KEY}}
    return TARGET | fixed | {"rate": rate, "retry": retry | {"backoff": "fixed"}}


def _requests(random: Random, names: list[str]) -> list[Operation]:
    """Runs that are requested nearly together, once or twice."""
    operations = []
    for _ in range(random.randint(1, 2)):
        at = random.uniform(4, 30)
        for _ in range(random.randint(3, 12)):
            operations.append(Operation(round(at, 1), "run", random.choice(names), {}))
            at += random.choice((0.0, 0.1, 0.5))
    return operations


def _changes(random: Random, created: list[Operation]) -> list[Operation]:
    """What is done to these jobs, to their runs, and to the rate of their key."""
    operations = []
    for _ in range(random.choice((0, 1, 2, 4))):
        of = random.choice(created)
        common = {"per_minute": random.choice((20, 60, 240)), "burst": random.choice((1, 2))}
        what, more = random.choice(
            (
                *(("redrive", {}), ("redrive", {}), ("cancel", {}), ("pause", {}), ("delete", {}), ("create", of.more)),
                ("resume", {"body": {"catch_up": False}}),
                ("patch", {"body": {"rate": common | {"key": KEY}}}),
                ("limit", {"rate": common}),
                ("limit", {}),
            )
        )
        name, pick = KEY if what == "limit" else of.job, {"pick": random.randint(0, 5)}
        operations.append(Operation(round(random.uniform(6, 50), 1), what, name, pick | more))
    return operations


def _restored(operations: list[Operation], at: float) -> list[Operation]:
    """What removes the stored limits of a plan. It starts waiting runs, so a plan without such limits does not have it:
    its runs start by themselves."""
    stored = any(each.what == "limit" for each in operations)
    return [Operation(at, "limit", KEY, {"concurrency": None})] if stored else []


def _sorted(operations: list[Operation]) -> tuple[Operation, ...]:
    return tuple(sorted(operations, key=lambda each: each.at))
