"""Plans about what follows from an end: the end of work in an AWS service, jobs after jobs, steps that run once for
each item of a list; and about requested runs that are rescheduled."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.prove.executions import EVENTS, EXECUTED
from tests.prove.faults import Fault
from tests.prove.plan import Conditions, Operation, Plan
from tests.prove.targets import TARGET

FLOW, INNER = "flow", "inner"

AT_EXECUTIONS = (
    *("StartExecution", "StartExecution", "DescribeExecution", "DescribeExecution", "StopExecution", "PutItem/runs"),
    *("Query/runs", "PutItem/runs", "SendMessageBatch", "GetItem/runs", "ChangeMessageVisibility", "UpdateItem/runs"),
)
"""Requests of a worker that follows executions."""

AT_SUCCESSORS = (
    *("GetItem/jobs", "TransactWriteItems", "PutItem/runs", "SendMessageBatch", "SendMessageBatch", "GetItem/runs"),
    *("UpdateItem/runs", "UpdateItem/jobs", "PutItem/jobs", "Call", "DeleteItem/runs"),
)
"""Requests of a worker that ends a run with successors."""

AT_ITEMS = (
    *("PutItem/runs", "PutItem/runs", "SendMessageBatch", "SendMessageBatch", "UpdateItem/runs", "GetItem/runs"),
    *("BatchGetItem", "Query/runs", "GetItem/jobs", "Call", "Object", "TransactWriteItems"),
)
"""Requests of a worker that runs items."""

AT_RESCHEDULING = (
    *("GetItem/runs", "TransactWriteItems", "TransactWriteItems", "SendMessageBatch", "GetItem/jobs", "PutItem/jobs"),
    *("UpdateItem/jobs", "Query/runs"),
)
"""Requests of the API that requests and reschedules runs."""

ACTIVE = {"state": ["QUEUED", "RETRYING", "RUNNING", "WAITING"]}
"""The states of the runs that a bulk cancellation ends."""

KINDS = ("throttled", "unavailable", "unsent", "lost", "slow", "dies_before", "dies_after", "partial")


def executions(random: Random, seed: int) -> Plan:
    """Jobs whose runs end when their executions do, which succeed, fail, take too long or are stopped."""
    limit = random.choice((10, 20, 20, 40, 600, 7200))
    body: dict[str, Any] = EXECUTED | {"schedule": None, "timeout_seconds": random.choice((5, 10))}
    body["completion_seconds"] = limit
    body["overlap"] = random.choice(("allow", "allow", "queue", "skip", "replace", "newest", {"allow": 2}))
    body["retry"] = {
        "max_attempts": random.choice((1, 1, 2, 3)),
        "backoff": "fixed",
        "min_seconds": random.choice((0, 1, 3)),
        "max_seconds": 10,
    }
    if random.random() < 0.15:
        body["delivery"] = "at_most_once"
    if random.random() < 0.2 and body["overlap"] not in ("replace", "newest"):
        body["concurrency"] = {"key": "one", "limit": random.choice((1, 2))}
    if random.random() < 0.25:
        body |= {"schedule": random.choice(("rate(10 seconds)", "rate(20 seconds)")), "lasting": 80.0}
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    at = 4.0
    for _ in range(random.randint(1, 5)):
        operations.append(Operation(round(at, 1), "run", "alpha", {}))
        at += random.choice((0.1, 2.0, 8.0))
    for _ in range(random.choice((0, 0, 1, 2, 3))):
        what = random.choice(("cancel", "cancel", "cancel", "redrive", "redrive", "run", "cancel-many", "pause"))
        more: dict[str, Any] = {"pick": random.randint(0, 3)}
        if what == "pause":
            more |= {"seconds": 20, "catch_up": False}
        if what == "cancel-many":
            more |= ACTIVE
        operations.append(Operation(round(random.uniform(5, at + 40), 1), what, "alpha", more))
    if random.random() < 0.08:
        operations.append(Operation(round(random.uniform(8, at + 20), 1), "delete", "alpha", {}))
    outcomes = random.choice(
        (
            {"succeeds": 1},
            {"succeeds": 2, "fails": 1},
            {"fails": 2, "expires": 1, "succeeds": 1},
            {"stays": 1, "succeeds": 1, "fails": 1},
            {"stays": 1},
            {"forgotten": 1, "succeeds": 1},
            {"refuses": 1, "succeeds": 2},
        )
    )
    if limit > 600 and "stays" in outcomes:  # none of these histories lasts as long as this limit
        outcomes = {"succeeds": 2, "fails": 1}
    target = {
        "outcomes": outcomes,
        "seconds": random.choice((0.2, 3.0, 12.0, 30.0)),
        "events": random.choice((EVENTS, EVENTS, {"prompt": 1}, {"early": 1}, {"never": 1, "late": 1})),
        "lags": random.choice(((0.0,), (0.0,), (0.0, 1.0))),
    }
    if target["events"] == {"early": 1}:  # they end before their start is answered; nothing hastens what is missed
        body["completion_seconds"] = 600
        target |= {"always": True, "seconds": 0.0, "outcomes": {"succeeds": 2, "fails": 1}}
    faults, conditions = _disturbed(random, AT_EXECUTIONS)
    return Plan(seed, at + 60, _sorted(operations), faults, conditions, {"alpha": target})


def executed(random: Random, seed: int) -> Plan:
    """A workflow whose steps wait for executions, while it is cancelled, redriven and paused."""
    jobs: dict[str, Any] = {}
    for number in range(random.randint(2, 4)):
        retry = {"max_attempts": random.choice((1, 2)), "backoff": "fixed", "min_seconds": 1, "max_seconds": 5}
        ends = EXECUTED | {"completion_seconds": random.choice((10, 20, 40))}
        job = (ends if random.random() < 0.7 else TARGET) | {"timeout_seconds": 5, "retry": retry}
        step: dict[str, Any] = {"job_id": f"m{number}", "job": job}
        if jobs:
            before = sorted(random.sample(list(jobs), 1))
            step |= {"after": before, "when": random.choice(("all_success", "all_done", "any_failure"))}
        if random.random() < 0.2:
            step["may_fail"] = True
        jobs[f"m{number}"] = step
    body = {"schedule": None, "deadline_seconds": random.choice((60, 120, 600)), "jobs": jobs, "overlap": "allow"}
    operations = [Operation(1.0, "put", FLOW, {"body": body}), Operation(6.0, "run", FLOW, {})]
    for _ in range(random.randint(0, 3)):
        what, name = random.choice(
            [("cancel", FLOW), ("redrive", FLOW), ("rerun", FLOW)]
            + [(each, random.choice(list(jobs))) for each in ("cancel", "redrive", "redrive")]
        )
        operations.append(Operation(round(random.uniform(7, 50), 1), what, name, {"pick": random.randint(0, 5)}))
    if random.random() < 0.1:
        operations.append(Operation(round(random.uniform(8, 30), 1), "delete", FLOW, {}))
    outcomes = ({"succeeds": 1}, {"succeeds": 2, "fails": 1}, {"fails": 1}, {"stays": 1, "succeeds": 1})
    targets = {}
    for name, step in jobs.items():
        drawn = random.choice(outcomes)
        if "completion" not in step["job"]:
            drawn = {each: weight for each, weight in drawn.items() if each != "stays"}
        targets[name] = {"outcomes": drawn, "seconds": random.choice((0.2, 3.0, 12.0)), "events": EVENTS}
    faults, conditions = _disturbed(random, AT_EXECUTIONS)
    return Plan(seed, 80.0, _sorted(operations), faults, conditions, targets)


def successors(random: Random, seed: int) -> Plan:
    """Jobs that start each other when their runs end: chains, fans, loops; some of them are paused, deleted or not
    there."""
    names = [f"j{number}" for number in range(random.randint(2, 5))]
    shape = random.choice(("chain", "chain", "fan", "fan", "any", "loop", "cancelled"))
    then = _rules(random, names, shape)
    operations, targets = list[Operation](), dict[str, dict[str, Any]]()
    for number, name in enumerate(reversed(names)):
        body: dict[str, Any] = TARGET | {"schedule": None, "timeout_seconds": 5, "overlap": "allow", "then": then[name]}
        if shape != "loop" and random.random() < 0.2:
            body["overlap"] = random.choice(("queue", "skip", "newest"))
        body["retry"] = {"max_attempts": random.choice((1, 1, 2)), "backoff": "fixed", "min_seconds": 1}
        body["retry"]["max_seconds"] = 5
        executes = shape != "loop" and random.random() < 0.3
        executes = executes or (shape == "cancelled" and name == names[0])
        if executes:
            body |= EXECUTED | {"completion_seconds": 20}
        operations.append(Operation(round(1 + 0.3 * number, 1), "create", name, {"body": body}))
        outcomes = random.choice(({"succeeds": 1}, {"succeeds": 1}, {"succeeds": 1, "fails": 1}, {"fails": 1}))
        if executes:  # it waits for long enough to be cancelled
            outcomes = {"stays": 1} if shape == "cancelled" else random.choice((outcomes, {"stays": 1}))
        targets[name] = {"outcomes": outcomes, "seconds": 0.2 if shape == "loop" else random.choice((0.2, 1.0, 6.0))}
    at = 6.0
    for _ in range(1 if shape == "loop" else random.randint(1, 4)):
        operations.append(Operation(round(at, 1), "run", names[0], {"key": f"run{at}"}))
        at += random.choice((0.1, 2.0, 6.0))
    for _ in range(0 if shape == "loop" else random.choice((0, 0, 1, 2, 3))):
        what = random.choice(("redrive", "redrive", "redrive", "cancel", "cancel", "pause", "delete", "cancel-many"))
        name = random.choice(names[1:] if what in ("pause", "delete") else names)
        more: dict[str, Any] = {"pick": random.randint(0, 3)} | ACTIVE
        operations.append(Operation(round(random.uniform(6.5, at + 25), 1), what, name, more))
    if shape == "cancelled":
        operations.append(Operation(round(random.uniform(9, 15), 1), "cancel", names[0], {"pick": 0}))
    faults, conditions = _disturbed(random, AT_SUCCESSORS)
    return Plan(seed, at + 50, _sorted(operations), faults, conditions, targets)


def _rules(random: Random, names: list[str], shape: str) -> dict[str, list[dict[str, str]]]:
    """The rules by which each of these jobs starts others."""
    then: dict[str, list[dict[str, str]]] = {name: [] for name in names}
    for number, name in enumerate(names):
        later = names[number + 1 :]
        match shape:
            case "chain" if later:
                then[name].append(_rule(random, later[0]))
            case "loop":
                then[name].append({"job": names[(number + 1) % len(names)], "on": "any"})
            case "cancelled" if number == 0:
                then[name] += [{"job": each, "on": random.choice(("any", "any", "dead"))} for each in later]
            case "fan" if number == 0:
                then[name] += [_rule(random, each) for each in later]
            case "any":
                then[name] += [_rule(random, each) for each in random.sample(later, min(len(later), 2))]
    if random.random() < 0.2 and shape != "loop":  # a missing job has a share of the runs that may follow one
        then[names[0]].append(_rule(random, "nowhere"))
    if random.random() < 0.15 and shape != "loop":  # two rules for one job
        then[names[0]].append({"job": names[-1], "on": random.choice(("succeeded", "dead", "any"))})
    return then


def _rule(random: Random, job: str) -> dict[str, str]:
    on = random.choice((None, "succeeded", "dead", "any"))
    return {"job": job} | ({} if on is None else {"on": on})


def items(random: Random, seed: int) -> Plan:
    """A workflow with a step that runs once for each item of a list, which another step or the payload of the workflow
    has; items fail, are redriven and cancelled."""
    count = random.choice((0, 1, 2, 3, 5, 5, 8, 12, 25, 140 if random.random() < 0.2 else 4))
    value: Any = [f"v{number}.{{attempt}}" for number in range(count)]
    if random.random() < 0.15:
        value = random.choice(([0] * 1001, "no list", {"rows": 7}, None, 3))
    step: dict[str, Any] = {"job_id": "each", "at_once": random.choice((1, 2, 3, 10)), "max_failed": 0}
    if random.random() < 0.3:
        del step["at_once"]
    step["max_failed"] = random.choice((0, 0, 1, 2, 5))
    retry = {"max_attempts": random.choice((1, 1, 2)), "backoff": "fixed", "min_seconds": 1, "max_seconds": 5}
    job: dict[str, Any] = TARGET | {"timeout_seconds": 5, "retry": retry}
    job["payload"] = {"item": "{{item}}", "index": "{{index}}"}
    if random.random() < 0.35:
        job |= EXECUTED | {"completion_seconds": 20}
    elif random.random() < 0.15:
        job["overlap"] = random.choice(("queue", {"allow": 2}))
    jobs: dict[str, Any] = {}
    body: dict[str, Any] = {"schedule": None, "deadline_seconds": random.choice((60, 120, 600)), "overlap": "allow"}
    last = {"target": TARGET["target"], "retry": {"max_attempts": 1}, "timeout_seconds": 5}
    if random.random() < 0.6:
        first = {"target": TARGET["target"], "retry": {"max_attempts": 1}, "timeout_seconds": 5}
        jobs["list"] = {"job_id": "list", "job": first}
        step |= {"after": ["list"], "for_each": "{{upstream.list.result.body.found}}"}
    else:
        step["for_each"] = "{{workflow.payload.found}}"
        body["payload"] = {"found": value}
    jobs["each"] = step | {"job": job}
    jobs["last"] = {
        "job_id": "last",
        "job": last,
        "after": ["each"],
        "when": random.choice(("all_success", "all_done")),
    }
    if random.random() < 0.5:
        last["payload"] = {"of": "{{upstream.each.result}}"}
    if random.random() < 0.2:
        jobs["each"]["may_fail"] = True
    body["jobs"] = jobs
    operations = _on_items(random, body, jobs)
    outcomes = (
        {"succeeds": 1},
        {"succeeds": 1},
        {"succeeds": 3, "fails": 1},
        {"fails": 1, "succeeds": 1},
        {"fails": 1},
    )
    drawn = random.choice(outcomes)
    each = {"outcomes": drawn, "seconds": random.choice((0.2, 1.0, 3.0, 12.0)), "events": EVENTS}
    targets = {"each": each, "last": {"outcomes": {"succeeds": 1}, "seconds": 0.2}}
    if job.get("completion"):  # long enough to be cancelled
        each["seconds"] = random.choice((3.0, 12.0))
    if count > 100:  # several parts of the outcomes
        jobs["each"]["at_once"], each["seconds"] = random.choice((20, 100)), 0.2
    lists = random.choice(({"succeeds": 1}, {"succeeds": 1}, {"succeeds": 1, "fails": 1}))
    targets["list"] = {"outcomes": lists, "seconds": 1.0, "body": {"found": value}}
    faults, conditions = _disturbed(random, AT_ITEMS)
    return Plan(seed, 90.0, _sorted(operations), faults, conditions, targets)


def _on_items(random: Random, body: dict[str, Any], jobs: dict[str, Any]) -> list[Operation]:
    """What is done to a workflow with items."""
    operations = [Operation(1.0, "put", FLOW, {"body": body}), Operation(6.0, "run", FLOW, {})]
    if random.random() < 0.2:
        operations.append(Operation(9.0, "run", FLOW, {}))
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        what, name = random.choice(
            (
                *(("redrive", FLOW), ("redrive", FLOW), ("redrive", "each"), ("redrive", "each"), ("redrive", "list")),
                *(("cancel", FLOW), ("cancel", FLOW), ("cancel", "each"), ("rerun", FLOW), ("redrive-many", "each")),
                *(("pause", "each"), ("delete", FLOW), ("cancel-many", "each")),
            )
        )
        pick: dict[str, Any]
        moment, pick = round(random.uniform(6.5, 45), 1), {"pick": random.randint(0, 9)}
        if what == "cancel-many":
            pick |= ACTIVE
        if name in jobs or name == FLOW:
            operations.append(Operation(moment, what, name, pick))
        if what == "pause":
            back = Operation(round(moment + random.uniform(1, 15), 1), "resume", name, {"body": {"catch_up": False}})
            operations.append(back)
    return operations


def stops(random: Random, seed: int) -> Plan:
    """A step whose items wait for executions; it, its workflow's run or an item is cancelled meanwhile."""
    job = EXECUTED | {"completion_seconds": 40, "timeout_seconds": 5, "retry": {"max_attempts": random.choice((1, 2))}}
    job["payload"] = {"item": "{{item}}", "index": "{{index}}"}
    value = [f"v{number}.0" for number in range(random.randint(1, 6))]
    step = {
        "job_id": "each",
        "for_each": "{{workflow.payload.found}}",
        "at_once": random.choice((1, 2, 10)),
        "job": job,
    }
    body = {"schedule": None, "deadline_seconds": 120, "payload": {"found": value}, "jobs": {"each": step}}
    operations = [Operation(1.0, "put", FLOW, {"body": body}), Operation(6.0, "run", FLOW, {})]
    at, name = round(random.uniform(7, 20), 1), random.choice((FLOW, FLOW, "each"))
    operations.append(Operation(at, "cancel", name, {"pick": random.randint(0, 6)}))
    target = {"outcomes": random.choice(({"stays": 1}, {"stays": 1, "fails": 1})), "seconds": 3.0, "events": EVENTS}
    faults, conditions = _disturbed(random, AT_ITEMS)
    return Plan(seed, 60.0, tuple(operations), faults, conditions, {"each": target})


def nested(random: Random, seed: int) -> Plan:
    """A workflow that has another one as a step, and a shared job; people act on the runs of both levels."""
    wait = random.choice((1, 8))
    retry = {"max_attempts": random.choice((1, 3)), "backoff": "fixed", "min_seconds": wait, "max_seconds": wait + 4}
    job = {"target": TARGET["target"], "retry": retry, "timeout_seconds": 5}
    rules = ("all_success", "all_success", "all_done", "any_failure", "none_failed")
    within: dict[str, Any] = {}
    for number in range(random.randint(1, 3)):
        step: dict[str, Any] = {"job_id": f"m{number}", "job": job}
        if within and random.random() < 0.7:
            step |= {"after": [random.choice(list(within))], "when": random.choice(rules)}
        if random.random() < 0.2:
            step["may_fail"] = True
        within[f"m{number}"] = step
    inner: dict[str, Any] = {"schedule": None, "jobs": within, "deadline_seconds": random.choice((60, 600))}
    inner["overlap"] = random.choice(("allow", "queue", "skip"))
    jobs: dict[str, Any] = {"first": {"job_id": "first", "job": job}, INNER: {"job_id": INNER, "after": ["first"]}}
    jobs["common"] = {"job_id": "common", "shared": True, "after": [INNER], "when": random.choice(rules)}
    jobs["last"] = {"job_id": "last", "job": job, "after": ["common"], "when": random.choice(rules)}
    if random.random() < 0.3:
        jobs[INNER]["may_fail"] = True
    outer = {"schedule": None, "deadline_seconds": random.choice((60, 120, 600)), "overlap": "allow", "jobs": jobs}
    operations = [
        Operation(1.0, "create", "common", {"body": TARGET | {"schedule": None, "retry": retry, "timeout_seconds": 5}}),
        Operation(1.5, "put", INNER, {"body": inner}),
        Operation(3.0, "put", FLOW, {"body": outer}),
        Operation(6.0, "run", FLOW, {}),
    ]
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        places = [FLOW, FLOW, INNER, INNER, "common", *within]
        what, name = random.choice(("redrive", "redrive", "cancel", "rerun", "run", "pause")), random.choice(places)
        moment, more = (
            round(random.choice((random.uniform(7, 15), random.uniform(7, 50))), 1),
            {"pick": random.randint(0, 5)},
        )
        operations.append(Operation(moment, what, name, more))
        if what == "pause":
            operations.append(Operation(round(moment + 9, 1), "resume", name, {"body": {"catch_up": False}}))
    outcomes = ({"succeeds": 1}, {"succeeds": 1}, {"succeeds": 2, "fails": 1}, {"fails": 1})
    names = ["first", "common", "last", *within]
    targets = {name: {"outcomes": random.choice(outcomes), "seconds": random.choice((0.2, 1.0, 4.0))} for name in names}
    targets["first"]["outcomes"] = {"succeeds": 1}
    if random.random() < 0.25:  # while a step waits for its next attempt
        operations = [*operations[:4], Operation(round(random.uniform(8, 16), 1), "cancel", FLOW, {"pick": 0})]
        targets |= {name: {"outcomes": {"fails": 1}, "seconds": 0.2} for name in within}
    faults, conditions = _disturbed(random, AT_ITEMS)
    return Plan(seed, 80.0, _sorted(operations), faults, conditions, targets)


def snoozes(random: Random, seed: int) -> Plan:
    """Runs that are requested for later, and are given another time or payload before they start, or too late."""
    body: dict[str, Any] = TARGET | {"schedule": None, "overlap": random.choice(("allow", "allow", "queue"))}
    body |= {"retry": {"max_attempts": 1}, "timeout_seconds": 5}
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    longest = random.choice((40, 40, 200, 400))
    for number in range(random.randint(1, 3)):
        ask: dict[str, Any] = {"delay_seconds": random.randint(5, longest)}
        if random.random() < 0.5:
            ask["payload"] = {"asked": number}
        operations.append(Operation(round(3 + random.uniform(0, 4), 1), "run", "alpha", {"ask": ask}))
    for number in range(random.randint(1, 5)):
        ask = {}
        if random.random() < 0.8:
            ask["delay_seconds"] = random.choice((0, random.randint(1, 20), random.randint(5, longest)))
        if not ask or random.random() < 0.3:
            ask["payload"] = {"changed": number}
        more = {"pick": random.randint(0, 3), "ask": ask}
        if random.random() < 0.2:
            more["twice"] = True
        operations.append(Operation(round(random.uniform(8, longest), 1), "reschedule", "alpha", more))
    for _ in range(random.choice((0, 0, 1))):
        what = random.choice(("cancel", "cancel", "pause", "delete", "redrive"))
        operations.append(
            Operation(round(random.uniform(8, longest), 1), what, "alpha", {"pick": random.randint(0, 3)})
        )
    targets = {"alpha": {"outcomes": {"succeeds": 3, "fails": 1}, "seconds": 0.3}}
    faults, conditions = _disturbed(random, AT_RESCHEDULING, "api")
    return Plan(seed, longest + 20.0, _sorted(operations), faults, conditions, targets)


def _disturbed(
    random: Random, operations: tuple[str, ...], function: str = "execute"
) -> tuple[list[Fault], Conditions]:
    """What goes wrong: nothing in two histories of five, in which everything must be on time."""
    if random.random() < 0.4:
        return [], Conditions()
    faults = [_fault(random, function, operations) for _ in range(random.choice((0, 0, 1, 1, 2)))]
    faults += [Fault.drawn(random)] if random.random() < 0.15 else []
    conditions = _around(random)
    # Messages of a run whose worker has died wait for the lease, and each copy of them does so on its own.
    dies = any(fault.kind.startswith("dies") for fault in faults)
    return faults, replace(conditions, doubled=min(conditions.doubled, 0.1)) if dies else conditions


def _fault(random: Random, function: str, operations: tuple[str, ...]) -> Fault:
    kind = random.choice(KINDS)
    return Fault(
        function,
        random.choice(operations),
        min(int(random.expovariate(1 / 4)) + 1, 30),
        kind,
        1 if kind.startswith("dies") else random.choice((1, 1, 1, 4, 8)),
        round(random.uniform(0.5, 8), 2) if kind == "slow" else 0.0,
    )


def _around(random: Random) -> Conditions:
    return Conditions(
        skew=random.choice((0.0, 0.0, 0.0, 4.0)),
        doubled=random.choice((0.0, 0.0, 0.0, 0.1, 0.4)),
        stale=random.choice((None, None, None, (5.0, 40.0))),
    )


def _sorted(operations: list[Operation]) -> tuple[Operation, ...]:
    return tuple(sorted(operations, key=lambda each: each.at))
