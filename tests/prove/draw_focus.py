"""Plans that are about one thing each: where faults were found before, and what random plans rarely come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.prove.draw_breakers import breakers, guarded, probes
from tests.prove.draw_ends import executed, executions, items, nested, snoozes, stops, successors
from tests.prove.draw_keys import allowed, edits, keyed, keys, paces, places, rates, wide
from tests.prove.draw_workflows import RIVAL, WORKFLOW, features, steps
from tests.prove.faults import Fault
from tests.prove.plan import Conditions, Operation, Plan
from tests.prove.targets import TARGET

OK = {"outcomes": {"succeeds": 1}, "seconds": 0.2}
FAILS = {"outcomes": {"fails": 1}, "seconds": 0.2}
DOUBLED = Conditions(doubled=0.4)


def retries(random: Random, seed: int) -> Plan:
    """Attempts of one job that fail in every way, as its rules for retries say."""
    body: dict[str, Any] = TARGET | {"schedule": None, "overlap": "allow", "timeout_seconds": 5}
    body["retry"] = {
        "max_attempts": random.choice((1, 2, 3)),
        "backoff": "fixed",
        "min_seconds": random.choice((0, 2, 5)),
        "max_seconds": 10,
    }
    if random.random() < 0.4:
        body["delivery"] = "at_most_once"
    outcomes = random.choice(
        (
            {"fails": 3, "succeeds": 1},
            {"forbids": 1, "succeeds": 1, "fails": 1},
            {"refuses": 1, "fails": 1, "succeeds": 1},
            {"breaks": 1, "fails": 1},
        )
    )
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    operations += [Operation(4.0 + number, "run", "alpha", {}) for number in range(random.randint(2, 4))]
    if random.random() < 0.5:
        operations.append(
            Operation(round(random.uniform(20, 35), 1), "redrive", "alpha", {"pick": random.randint(0, 3)})
        )
    if random.random() < 0.3:
        operations.append(Operation(round(random.uniform(3, 12), 1), "cancel", "alpha", {"pick": random.randint(0, 3)}))
    faults = [Fault.drawn(random)] if random.random() < 0.3 else []
    if random.random() < 0.3:
        faults = [
            Fault("execute", "SendMessageBatch", random.randint(1, 4), random.choice(("throttled", "partial")), 16)
        ]
    conditions = Conditions(doubled=random.choice((0.0, 0.0, 0.4)))
    return Plan(seed, 40.0, tuple(operations), faults, conditions, {"alpha": {"outcomes": outcomes, "seconds": 0.3}})


def wait_queue(random: Random, seed: int) -> Plan:
    """Runs of one job that wait in the wait queue; some of them die, are redriven, and wait again."""
    overlap = random.choice(("queue", "queue", "newest", "replace"))
    body: dict[str, Any] = TARGET | {"schedule": None, "overlap": overlap, "retry": {"max_attempts": 1}}
    body["timeout_seconds"] = 30
    if random.random() < 0.6:
        body |= {"completion": "callback", "completion_seconds": random.choice((10, 20)), "timeout_seconds": 5}
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    at = 4.0
    for _ in range(random.randint(4, 9)):
        what = random.choice(("run", "run", "run", "redrive", "redrive", "redrive", "cancel"))
        operations.append(Operation(round(at, 1), what, "alpha", {"pick": random.randint(0, 5)}))
        at += random.choice((0.2, 1.0, 3.0, 6.0))
    operations += [
        Operation(round(at + 3 * number, 1), random.choice(("redrive", "redrive", "run")), "alpha", {"pick": number})
        for number in range(3)
    ]
    if random.random() < 0.2:
        operations.append(Operation(round(at + 5, 1), "console-redrive", "alpha", {}))
    target = {"outcomes": {"fails": random.choice((1, 3)), "succeeds": 1}, "seconds": random.choice((3.0, 12.0))}
    conditions = Conditions(doubled=random.choice((0.0, 0.4)), skew=random.choice((0.0, 0.0, 4.0)))
    faults = [Fault.drawn(random)] if random.random() < 0.2 else []
    if random.random() < 0.3:  # while some of them wait
        operations.append(Operation(round(at + random.uniform(0, 8), 1), "delete", "alpha", {}))
    return Plan(seed, max(at + 20, 60.0), _sorted(operations), faults, conditions, {"alpha": target})


def crowd(random: Random, seed: int) -> Plan:
    """A job that comes due every second or two, while no worker starts for a while."""
    overlap = random.choice(("newest", "newest", "replace", "queue"))
    seconds = 100.0
    body = TARGET | {"schedule": random.choice(("rate(1 second)", "rate(2 seconds)")), "overlap": overlap}
    body |= {"retry": {"max_attempts": 1}, "timeout_seconds": 5, "lasting": seconds + 20}
    body["missed"] = {"policy": random.choice(("run_all", "skip")), "grace_seconds": 60, "max_missed": 100}
    outage = (round(random.uniform(5, 10), 1), round(random.uniform(50, 80), 1))
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    target = {"outcomes": {"succeeds": 3, "fails": 1}, "seconds": random.choice((0.2, 1.0, 3.0))}
    faults = [Fault("execute", "GetItem/runs", random.randint(1, 60), "slow", 4, 3.0)] if random.random() < 0.5 else []
    return Plan(seed, seconds, tuple(operations), faults, Conditions(outage=outage), {"alpha": target})


def missed(random: Random, seed: int) -> Plan:
    """A job that runs all that it missed, and reads of its records that are refused meanwhile."""
    body = TARGET | {"schedule": random.choice(("rate(20 seconds)", "rate(30 seconds)")), "overlap": "allow"}
    body |= {"retry": {"max_attempts": 1}, "lasting": 330.0}
    body["missed"] = {"policy": "run_all", "grace_seconds": 5, "max_missed": random.choice((1, 2, 3))}
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    kind = random.choice(("throttled", "throttled", "unavailable", "slow"))
    fault = Fault("dispatch", "Query/runs", random.randint(1, 3), kind, random.choice((4, 8, 8, 16)), 6.0)
    out = (0.0, round(random.uniform(150, 250), 1))
    return Plan(seed, 320.0, tuple(operations), [fault], Conditions(ticks_out=out), {"alpha": OK})


def sends(random: Random, seed: int) -> Plan:
    """Occurrences whose messages their lanes refuse for a while, all of them or some."""
    names = [f"often{number}" for number in range(random.randint(2, 4))]
    operations = []
    for name in names:
        body = TARGET | {"schedule": random.choice(("rate(5 seconds)", "rate(7 seconds)")), "overlap": "allow"}
        body |= {"retry": {"max_attempts": 1}, "lasting": 130.0}
        body["missed"] = {"policy": "run_all", "grace_seconds": 60, "max_missed": 100}
        operations.append(Operation(round(random.uniform(1, 20), 1), "create", name, {"body": body}))
    kind = random.choice(("partial", "partial", "throttled"))
    operation = random.choice(("SendMessageBatch", "SendMessageBatch", "BatchExecuteStatement"))
    fault = Fault("dispatch", operation, random.randint(1, 4), kind, random.choice((16, 60, 60)))
    return Plan(seed, 100.0, _sorted(operations), [fault], Conditions(), dict.fromkeys(names, OK))


def rules(random: Random, seed: int) -> Plan:
    """A larger graph with all rules, whose jobs succeed or fail at once; now and then a part of it runs again."""
    jobs = _graph(random, random.randint(6, 10))
    targets = {name: random.choice((OK, OK, FAILS)) for name in jobs}
    operations = [_put(jobs), Operation(7.0, "run", WORKFLOW, {"pick": 0})]
    if random.random() < 0.5:
        operations.append(Operation(30.0, "rerun", WORKFLOW, {"pick": random.randint(0, 9)}))
    return Plan(seed, 50.0, tuple(operations), [], Conditions(), targets)


def callbacks(random: Random, seed: int) -> Plan:
    """Runs that programs complete, fail, leave alone, or that are cancelled meanwhile."""
    body: dict[str, Any] = TARGET | {"schedule": None, "overlap": random.choice(("allow", "queue"))}
    body |= {"completion": "callback", "completion_seconds": random.choice((10, 20)), "timeout_seconds": 5}
    body["retry"] = {"max_attempts": random.choice((1, 2)), "backoff": "fixed", "min_seconds": 1, "max_seconds": 5}
    if random.random() < 0.4:
        body["heartbeat_seconds"] = 5
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    operations += [Operation(4.0 + number, "run", "alpha", {}) for number in range(random.randint(1, 4))]
    for _ in range(random.randint(0, 3)):
        at = round(random.uniform(3, 25), 1)
        operations.append(Operation(at, "cancel", "alpha", {"pick": random.randint(0, 3)}))
    fault = Fault("execute", random.choice(("SendMessageBatch", "PutItem/runs")), random.randint(1, 6), "throttled", 16)
    faults = [fault] if random.random() < 0.4 else []
    return Plan(seed, 60.0, _sorted(operations), faults, Conditions(doubled=random.choice((0.0, 0.3))), {"alpha": OK})


def repair(random: Random, seed: int) -> Plan:
    """A workflow whose jobs die; they, and its run, are redriven and run again."""
    jobs = _graph(random, random.randint(3, 6))
    targets = {
        name: random.choice((OK, FAILS, {"outcomes": {"fails": 1, "succeeds": 1}, "seconds": 3.0})) for name in jobs
    }
    operations = [_put(jobs, deadline_seconds=random.choice((60, 120))), Operation(7.0, "run", WORKFLOW, {"pick": 0})]
    at = random.uniform(11, 18)
    for _ in range(random.randint(1, 4)):
        pick = {"pick": random.randint(0, 5)}
        what = random.choice(("redrive", "redrive", "rerun", "step", "step", "step"))
        if what == "step":
            dead = [name for name in jobs if targets[name] is not OK] or list(jobs)
            operations.append(Operation(round(at, 1), "redrive", random.choice(dead), pick))
        else:
            operations.append(Operation(round(at, 1), what, WORKFLOW, pick))
        at += random.choice((0.1, 0.5, 5.0, 10.0))
    conditions = random.choice((Conditions(), Conditions(), DOUBLED))
    return Plan(seed, at + 20, tuple(operations), [], conditions, targets)


def timed(random: Random, seed: int) -> Plan:
    """A workflow whose jobs wait for times of their own, or would if they were needed."""
    jobs = _graph(random, random.randint(3, 5))
    for name in list(jobs)[1:]:
        if random.random() < 0.6:
            jobs[name]["not_before"] = random.choice(("0 */2 * * * *", "*/40 * * * * *"))
    targets = {name: random.choice((OK, OK, FAILS)) for name in jobs}
    put = _put(
        jobs, schedule="*/30 * * * * *", lasting=95.0, overlap="allow", deadline_seconds=random.choice((60, 300))
    )
    return Plan(seed, 60.0, (put,), [], Conditions(), targets)


def pauses(random: Random, seed: int) -> Plan:
    """A job with a schedule is paused and resumed again and again, while its lane is busy, ticks are missing, or its
    runs wait for each other. All its resumes catch up, or none does.
    """
    body: dict[str, Any] = TARGET | {"schedule": random.choice(("rate(10 seconds)", "rate(20 seconds)"))}
    body |= {"overlap": random.choice(("allow", "allow", "queue")), "retry": {"max_attempts": 1}, "lasting": 400.0}
    policy = random.choice(("run_all", "run_all", "run_once", "skip"))
    body["missed"] = {"policy": policy, "grace_seconds": random.choice((5, 60)), "max_missed": 100}
    if random.random() < 0.5:
        body["max_runs"] = random.choice((5, 8, 12))
    catch_up = random.random() < 0.5
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    at = random.uniform(10, 60)
    while at < 270:
        length = random.choice((15, 30, 50, 80))
        ends = random.random() < 0.6
        more: dict[str, Any] = {"seconds": length, "catch_up": catch_up} if ends else {}
        operations.append(Operation(round(at, 1), "pause", "alpha", more))
        back = at + (random.uniform(2, length + 20) if ends else length)
        if not ends or random.random() < 0.5:
            operations.append(Operation(round(back, 1), "resume", "alpha", {"body": {"catch_up": catch_up}}))
        at = back + random.choice((3.0, 20.0, 80.0))
    # The lane is busy when a pause begins, and delivers during the pause what came due before it.
    begin = random.choice([each.at for each in operations if each.what == "pause"])
    span = (round(begin - random.uniform(12, 40), 1), round(begin + random.uniform(2, 14), 1))
    conditions = random.choice((Conditions(), Conditions(outage=span), Conditions(outage=span), Conditions(lost=(2,))))
    slow = {"outcomes": {"succeeds": 1}, "seconds": 12.0}
    return Plan(seed, 330.0, _sorted(operations), [], conditions, {"alpha": random.choice((OK, OK, slow))})


def paused(random: Random, seed: int) -> Plan:
    """Jobs of a workflow are paused when their turn comes, or while they wait for another run of theirs."""
    jobs = _graph(random, random.randint(2, 4))
    for step in jobs.values():
        step["job"]["overlap"] = random.choice(("queue", "skip", "allow"))
    put = _put(jobs, overlap="allow", deadline_seconds=300)
    operations = [put] + [Operation(7.0 + number, "run", WORKFLOW, {}) for number in range(random.randint(1, 3))]
    for name in random.sample(list(jobs), random.randint(1, 2)):
        at = round(random.uniform(5, 17), 1)
        operations.append(Operation(at, "pause", name, {}))
        if random.random() < 0.4:
            operations.append(Operation(round(at + random.uniform(3, 10), 1), "redrive", name, {"pick": 0}))
        back = round(at + random.choice((10.0, 25.0, 60.0)), 1)
        operations.append(Operation(back, "resume", name, {"body": {"catch_up": False}}))
    slow = {"outcomes": {"succeeds": 3, "fails": 1}, "seconds": 12.0}
    targets = {name: random.choice((OK, slow, slow, FAILS)) for name in jobs}
    return Plan(seed, 90.0, _sorted(operations), [], Conditions(), targets)


def rivals(random: Random, seed: int) -> Plan:
    """Workflows are put at the same moment: over the same jobs, or over what is changed or deleted meanwhile."""
    operations = []
    for number in range(3):
        at, job = 9.0 + 8 * number, f"shared{number}"
        operations.append(Operation(1.0, "create", job, {"body": TARGET | {"schedule": None}}))
        near = round(at + random.choice((0.0, 0.01, 0.02, 0.05, random.uniform(0, 0.3))), 3)
        mine = _flow(
            {job: {}, f"own{number}": {"job_id": f"own{number}", "job": dict(TARGET), "after": [job]}},
            name=f"mine{number}",
        )
        other = _flow(
            {job: {}, f"other{number}": {"job_id": f"other{number}", "job": dict(TARGET), "after": [job]}},
            name=f"other{number}",
        )
        operations.append(Operation(at, "put", f"{RIVAL}{number}", {"body": mine}))
        match random.choice(("rival", "rival", "delete", "job", "schedule")):
            case "rival":
                operations.append(Operation(near, "put", f"{RIVAL}{number}b", {"body": other}))
                operations.append(Operation(at + 4, "run", f"{RIVAL}{number}b", {}))
            case "delete":
                again = mine | {"name": "again"}
                operations.append(Operation(at + 2, "put", f"{RIVAL}{number}", {"body": again}))
                operations.append(Operation(round(near + 2, 3), "delete", f"{RIVAL}{number}", {}))
            case "job":
                operations.append(Operation(near, "delete", job, {}))
            case "schedule":
                operations.append(
                    Operation(near, "patch", job, {"body": {"schedule": "rate(30 seconds)", "lasting": 100.0}})
                )
        operations.append(Operation(at + 4, "run", f"{RIVAL}{number}", {}))
    targets = dict.fromkeys(steps(operations), OK)
    return Plan(seed, 40.0, _sorted(operations), [], Conditions(), targets)


def over(random: Random, seed: int) -> Plan:
    """A workflow is deleted, cancelled or at its deadline while its run begins, or while its jobs run."""
    jobs = _graph(random, random.randint(3, 5))
    for name in list(jobs)[1:]:  # a chain: there is something to do for a while
        jobs[name] |= {"after": [list(jobs)[list(jobs).index(name) - 1]], "when": "all_done"}
    target = {"outcomes": {"succeeds": 1}, "seconds": random.choice((0.2, 3.0, 12.0))}
    targets = dict.fromkeys(jobs, target)
    seconds, faults = random.choice((60, 120)), list[Fault]()
    operations = [Operation(7.0, "run", WORKFLOW, {})]
    dies = random.choice(("dies_before", "dies_after"))
    match random.choice(("delete", "delete", "cancel", "deadline", "deadline", "taken over")):
        case "delete":
            at = round(7 + random.choice((random.uniform(0, 0.15), random.uniform(0, 0.15), random.uniform(0, 15))), 3)
            operations.append(Operation(at, "delete", WORKFLOW, {}))
        case "cancel":
            operations.append(Operation(round(random.uniform(7.2, 15), 1), "cancel", WORKFLOW, {"pick": 0}))
        case "deadline":
            operations.append(Operation(5.5, "pause", list(jobs)[1], {}))
        case "taken over":
            operations.append(Operation(5.5, "pause", list(jobs)[1], {}))
            seconds = 240  # longer than a message is hidden
            faults.append(Fault("execute", "SendMessageBatch", random.randint(1, 3), dies))
    if not faults and random.random() < 0.6:
        operation = random.choice(("SendMessageBatch", "PutItem/runs", "UpdateItem/runs"))
        faults.append(Fault("execute", operation, random.randint(1, 3), dies))
    operations.append(_put(jobs, deadline_seconds=seconds))
    return Plan(seed, 60.0, _sorted(operations), faults, Conditions(), targets)


def turns(random: Random, seed: int) -> Plan:
    """Runs of one job that wait in the wait queue, each until the one before it has ended."""
    body: dict[str, Any] = TARGET | {"schedule": None, "overlap": "queue", "retry": {"max_attempts": 1}}
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    step = random.choice((0.1, 1.0))
    operations += [Operation(round(6 + number * step, 1), "run", "alpha", {}) for number in range(random.randint(3, 6))]
    target = {"outcomes": {"fails": 1, "succeeds": 2}, "seconds": random.choice((1.0, 3.0, 6.0)), "always": True}
    return Plan(seed, 50.0, _sorted(operations), [], Conditions(), {"alpha": target})


def cancels(random: Random, seed: int) -> Plan:
    """Runs that are cancelled while they wait for their next attempt, for a callback, or in the wait queue."""
    body: dict[str, Any] = TARGET | {
        "schedule": None,
        "overlap": random.choice(("allow", "queue")),
        "timeout_seconds": 5,
    }
    body["retry"] = {"max_attempts": 3, "backoff": "fixed", "min_seconds": 5, "max_seconds": 10}
    if random.random() < 0.3:
        body |= {"completion": "callback", "completion_seconds": 20}
    operations = [Operation(1.0, "create", "alpha", {"body": body})]
    operations += [Operation(6.0 + number, "run", "alpha", {}) for number in range(random.randint(1, 3))]
    for _ in range(2):
        at = round(random.uniform(7, 15), 1)
        operations.append(Operation(at, "cancel", "alpha", {"pick": random.randint(0, 2)}))
    target = {"outcomes": {"fails": 1}, "seconds": 0.3}
    return Plan(seed, 50.0, _sorted(operations), [], Conditions(), {"alpha": target})


def held(random: Random, seed: int) -> Plan:
    """A job of a workflow is paused while a run of it is at work and others wait in its wait queue."""
    jobs = {
        name: {"job_id": name, "job": TARGET | {"retry": {"max_attempts": 1}, "overlap": "queue"}}
        for name in ("m0", "m1")
    }
    jobs["m1"]["after"] = ["m0"]
    paused = random.choice(("m0", "m0", "m1"))
    operations = [_put(jobs, overlap="allow", deadline_seconds=300)]
    operations += [Operation(7.0 + number, "run", WORKFLOW, {}) for number in range(random.randint(2, 3))]
    operations.append(Operation(round(random.uniform(9, 16), 1), "pause", paused, {}))
    back = round(random.uniform(25, 50), 1)
    operations.append(Operation(back, "resume", paused, {"body": {"catch_up": False}}))
    target = {"outcomes": {"succeeds": 1}, "seconds": random.choice((3.0, 6.0)), "always": True}
    targets = dict.fromkeys(jobs, target)
    return Plan(seed, 80.0, _sorted(operations), [], Conditions(), targets)


def deleted(random: Random, seed: int) -> Plan:
    """Workflows that are deleted in the moment in which a worker begins their run."""
    operations = []
    for number in range(4):
        name, first, then = f"brief{number}", f"a{number}", f"b{number}"
        jobs = {
            first: {"job_id": first, "job": dict(TARGET)},
            then: {"job_id": then, "job": dict(TARGET), "after": [first]},
        }
        at = 6.0 + 8 * number
        operations.append(Operation(1.0 + number, "put", name, {"body": _flow(jobs)}))
        operations.append(Operation(at, "run", name, {}))
        operations.append(Operation(round(at + random.uniform(0.01, 0.12), 3), "delete", name, {}))
    target = OK | {"seconds": 4.0, "always": True}  # the second job would start well after the deletion
    return Plan(seed, 50.0, _sorted(operations), [], Conditions(), dict.fromkeys(steps(operations), target))


def again(random: Random, seed: int) -> Plan:
    """Dead jobs of a workflow are redriven and die again while its last job is at work. Their evaluations come twice,
    beside redrives of another job. These keep the lane's workers busy, since they are sent on slowly: from 38.5 to
    42.5, and again from then on. The last job ends at 42.8, so one delivery is looked at before that end and deleted
    late, another one is looked at after it."""
    names = [f"m{number}" for number in range(7)]
    jobs = {
        name: {"job_id": name, "job": TARGET | {"retry": {"max_attempts": 1}, "timeout_seconds": 30}} for name in names
    }
    beside = TARGET | {"schedule": None, "overlap": "allow", "retry": {"max_attempts": 1}}
    operations = [
        Operation(1.0, "create", "alpha", {"body": beside}),
        Operation(2.0, "put", WORKFLOW, {"body": _flow(jobs, deadline_seconds=300)}),
        Operation(7.0, "run", WORKFLOW, {}),
    ]
    for number in range(7):
        operations.append(Operation(round(8 + 0.3 * number, 2), "run", "alpha", {}))
        operations.append(Operation(round(38.5 + 0.5 * number, 2), "redrive", "alpha", {"pick": number}))
    operations += [Operation(round(random.uniform(28, 33), 2), "redrive", name, {"pick": 0}) for name in names[1:]]
    fails = {"outcomes": {"fails": 1}, "always": True, "seconds": 0.2}
    targets = dict.fromkeys([*names, "alpha"], fails) | {"m0": fails | {"seconds": 27.7}}
    slow = Fault("execute", "SendMessageBatch", 1, "slow", 9999, 4.0)
    return Plan(seed, 70.0, _sorted(operations), [slow], Conditions(doubled=0.9), targets)


def members(random: Random, seed: int) -> Plan:
    """Workflows whose steps use other features of jobs, while they, their runs and their definition are changed."""
    seconds = 80.0
    first = features(random, seconds)
    jobs, operations = first["jobs"], [Operation(1.0, "put", WORKFLOW, {"body": first})]
    operations += [Operation(6.0 + 2 * each, "run", WORKFLOW, {}) for each in range(random.choice((1, 1, 2, 4)))]
    whole = (
        "redrive",
        "redrive",
        "cancel",
        "rerun",
        "rerun",
        "cancel-many",
        "redrive-many",
        "backfill",
        "again",
        "less",
    )
    single = ("redrive", "redrive", "cancel", "cancel-many", "run", "pause", "payload")
    for _ in range(random.randint(1, 5)):
        at, pick = round(random.uniform(7, seconds - 10), 1), {"pick": random.randint(0, 5)}
        later = round(at + random.choice((0.1, 3.0, 10.0)), 1)
        name = random.choice(list(jobs))
        what, job = random.choice([*((each, WORKFLOW) for each in whole), *((each, name) for each in single)])
        match what:
            case "again":
                operations.append(Operation(at, "delete", WORKFLOW, {}))
                operations.append(Operation(later, "put", WORKFLOW, {"body": first}))
            case "less":  # the step leaves the workflow, and its job is created again
                fewer = {
                    each: step for each, step in jobs.items() if each != name and name not in step.get("after", ())
                }
                fewer = fewer if all(set(each.get("after", ())) <= set(fewer) for each in fewer.values()) else {}
                if fewer and "upstream" not in str(fewer):
                    operations.append(Operation(at, "put", WORKFLOW, {"body": first | {"jobs": fewer}}))
                    operations.append(Operation(round(at + 0.5, 1), "delete", name, {}))
                    operations.append(Operation(later + 1, "put", WORKFLOW, {"body": first}))
            case "backfill" if first["schedule"] is None:
                operations.append(Operation(at, "rerun", WORKFLOW, pick))
            case "backfill":
                back = {"back": 30, "pace": random.choice((1, 5)), "only": random.choice(("all", "failed", "missing"))}
                operations.append(Operation(at, what, job, back | {"newest_first": False}))
            case "cancel-many":
                states = random.choice((["QUEUED"], ["QUEUED", "RETRYING", "WAITING"], ["RUNNING", "WAITING"]))
                operations.append(Operation(at, what, job, {"state": states}))
            case "pause":
                operations.append(Operation(at, what, job, {}))
                operations.append(Operation(later + 5, "resume", job, {"body": {"catch_up": False}}))
            case "payload":
                operations.append(Operation(at, "patch", job, {"body": {"payload": {"new": 1}}}))
            case _:
                operations.append(Operation(at, what, job, pick))
    if random.random() < 0.25:  # a redrive is cancelled
        at = round(random.uniform(15, seconds - 20), 1)
        operations.append(Operation(at, "redrive", WORKFLOW, {"pick": 0}))
        operations.append(Operation(round(at + random.uniform(0.2, 4), 1), "cancel", WORKFLOW, {"pick": 0}))
        operations.append(Operation(at + 18, "rerun", WORKFLOW, {"pick": random.randint(0, 5)}))
    for name in jobs:  # in the end nothing is paused
        operations.append(Operation(seconds - 2, "patch", name, {"body": {"pause_on_failure": None}}))
        operations.append(Operation(seconds - 1, "resume", name, {"body": {"catch_up": False}}))
    outcomes = ({"succeeds": 1}, {"succeeds": 3, "fails": 1}, {"fails": 1}, {"forbids": 1, "succeeds": 1})
    targets = {
        name: {"outcomes": random.choice(outcomes), "seconds": random.choice((0.2, 1.0, 3.0, 12.0))} for name in jobs
    }
    conditions = Conditions(
        doubled=random.choice((0.0, 0.0, 0.3)),
        skew=random.choice((0.0, 0.0, 4.0)),
        outage=random.choice((None, None, None, (20.0, 45.0))),
        ticks_out=random.choice((None, None, None, (0.0, 100.0))),
        stale=random.choice((None, None, (5.0, 60.0))),
    )
    faults = [Fault.drawn(random) for _ in range(random.choice((0, 0, 1, 2)))]
    return Plan(seed, seconds, _sorted(operations), faults, conditions, targets)


FOCUS: dict[str, Callable[[Random, int], Plan]] = {
    each.__name__: each
    for each in (
        retries,
        wait_queue,
        keys,
        places,
        paces,
        rates,
        edits,
        keyed,
        breakers,
        probes,
        guarded,
        crowd,
        missed,
        sends,
        rules,
        callbacks,
        repair,
        timed,
        pauses,
        paused,
        rivals,
        over,
        turns,
        cancels,
        held,
        deleted,
        again,
        members,
        wide,
        allowed,
        executions,
        executed,
        successors,
        items,
        stops,
        nested,
        snoozes,
    )
}
"""By name."""


def _graph(random: Random, size: int) -> dict[str, Any]:
    jobs: dict[str, Any] = {}
    for number in range(size):
        before = sorted(random.sample(list(jobs), min(number, random.choice((1, 1, 2)))))
        step: dict[str, Any] = {"job": TARGET | {"retry": {"max_attempts": 1}, "timeout_seconds": 30}}
        if before:
            rules = ("all_success", "all_done", "any_success", "any_failure", "none_failed")
            step |= {"after": before, "when": random.choice(rules)}
        if random.random() < 0.25:
            step["may_fail"] = True
        jobs[f"m{number}"] = {"job_id": f"m{number}"} | step
    return jobs


def _flow(jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"schedule": None, "deadline_seconds": 60, "jobs": jobs} | more


def _put(jobs: dict[str, Any], **more: Any) -> Operation:
    return Operation(1.0, "put", WORKFLOW, {"body": _flow(jobs, **more)})


def _sorted(operations: list[Operation]) -> tuple[Operation, ...]:
    return tuple(sorted(operations, key=lambda each: each.at))


def lasting(plan: Plan, instant: Callable[[float], str]) -> Plan:
    """With the ends of schedules as instants: `lasting` counts from the beginning."""

    def ended(operation: Operation) -> Operation:
        body = operation.more.get("body")
        if not isinstance(body, dict) or "lasting" not in body:
            return operation
        rest = {name: value for name, value in body.items() if name != "lasting"}
        return replace(operation, more=operation.more | {"body": rest | {"end": instant(body["lasting"])}})

    return replace(plan, operations=tuple(map(ended, plan.operations)))
