"""Workflows in plans: their graphs, and what is done to them and to their jobs."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.prove.plan import Operation
from tests.prove.targets import ADDRESS, TARGET

WORKFLOW = "flow"
RIVAL = "rival"
"""A second workflow, which may want the first one's jobs."""

RULES = ("all_success", "all_success", "all_done", "any_success", "any_failure", "none_failed")

ON_WORKFLOWS = (
    *(
        "run",
        "run",
        "run",
        "redrive",
        "redrive",
        "cancel",
        "rerun",
        "rerun",
        "delete",
        "put",
        "pause",
        "resume",
        "rival",
    ),
)
ON_STEPS = ("redrive", "redrive", "redrive", "cancel", "pause", "pause", "run", "patch", "console-redrive")


def graph(random: Random) -> dict[str, Any]:
    """The jobs of a workflow's document: each comes after some before it."""
    names = [f"m{number}" for number in range(random.randint(2, 6))]
    jobs: dict[str, Any] = {}
    for number, name in enumerate(names):
        before = sorted(random.sample(names[:number], min(number, random.choice((1, 1, 2, 3)))))
        job = {
            "target": {"type": "http", "url": f"{ADDRESS}/"},
            "timeout_seconds": 5,
            "retry": {"max_attempts": random.choice((1, 1, 2)), "backoff": "fixed", "min_seconds": 1, "max_seconds": 5},
        }
        if random.random() < 0.15:
            job["overlap"] = random.choice(("queue", "skip", "newest"))
        jobs[name] = {"job_id": name, "job": job}
        if before:
            jobs[name] |= {"after": before, "when": random.choice(RULES)}
        if random.random() < 0.25:
            jobs[name]["may_fail"] = True
        if random.random() < 0.1:
            jobs[name]["not_before"] = "*/20 * * * * *"
        if random.random() < 0.05:
            jobs[name]["only"] = "0 */2 * * * *"
    return jobs


def document(random: Random, end: str) -> dict[str, Any]:
    """A workflow."""
    schedule = random.choice((None, None, "rate(1 minute)", "*/30 * * * * *"))
    made: dict[str, Any] = {"schedule": schedule, "deadline_seconds": random.choice((60, 60, 120, 600))}
    made["overlap"] = random.choice(("skip", "queue", "allow", "allow"))
    if schedule is not None:
        made["end"] = end
    jobs = graph(random)
    for step in jobs.values():
        if not str(schedule).startswith("*"):  # it would never name an occurrence, which is refused
            step.pop("only", None)
    return made | {"jobs": jobs}


def operations(random: Random, seconds: float, end: str) -> list[Operation]:
    """What is done to a workflow and its jobs."""
    first = document(random, end)
    begin = round(random.uniform(1, 5), 1)
    made = [Operation(begin, "put", WORKFLOW, {"body": first})]
    if first["schedule"] is None:
        made.append(Operation(round(begin + random.uniform(2, 8), 1), "run", WORKFLOW, {"pick": 0}))
    for _ in range(random.choice((0, 1, 2, 3, 4, 5))):
        at = round(random.uniform(begin + 4, seconds - 2), 1)
        pick: dict[str, Any] = {"pick": random.randint(0, 5)}
        if random.random() < 0.5:
            what = random.choice(ON_WORKFLOWS)
            match what:
                case "put":
                    made.append(Operation(at, "put", WORKFLOW, {"body": document(random, end)}))
                case "rival":
                    made += _rivals(random, at, end, first)
                case "resume":
                    made.append(Operation(at, "resume", WORKFLOW, {"body": {"catch_up": random.random() < 0.3}}))
                case _:
                    made.append(Operation(at, what, WORKFLOW, pick))
        else:
            what, job = random.choice(ON_STEPS), random.choice(list(first["jobs"]))
            if what == "patch":
                pick = {"body": {"payload": {"new": random.randint(1, 9)}}}
            made.append(Operation(at, what, job, pick))
            if what == "pause":
                made.append(
                    Operation(round(at + random.uniform(1, 40), 1), "resume", job, {"body": {"catch_up": False}})
                )
    return made


def _rivals(random: Random, at: float, end: str, first: dict[str, Any]) -> list[Operation]:
    """Two workflows are written within half a second, both with the same job, which was in none; or a workflow while it
    is deleted."""
    near = round(at + random.uniform(0, 0.5), 2)
    if random.random() < 0.5:
        return [
            Operation(at, "put", WORKFLOW, {"body": first | {"name": "again"}}),
            Operation(near, random.choice(("delete", "pause")), WORKFLOW, {"pick": 0}),
        ]
    shared = {
        "schedule": None,
        "deadline_seconds": 60,
        "jobs": {"shared": {}, "own": {"job": _plain(), "after": ["shared"]}},
    }
    other = {"schedule": None, "deadline_seconds": 60, "jobs": {"shared": {}, "other": {"job": _plain()}}}
    create = Operation(max(at - 3, 0.5), "create", "shared", {"body": {**_plain(), "schedule": None}})
    return [
        create,
        Operation(at, "put", RIVAL, {"body": shared}),
        Operation(near, "put", "rival2", {"body": other}),
        Operation(round(near + 6, 2), "run", RIVAL, {"pick": 0}),
        Operation(round(near + 6, 2), "run", "rival2", {"pick": 0}),
    ]


def _plain() -> dict[str, Any]:
    return {"target": {"type": "http", "url": f"{ADDRESS}/"}, "retry": {"max_attempts": 1}}


def features(random: Random, begin: float) -> dict[str, Any]:
    """A workflow whose steps wait for callbacks, overlap, are late or use results, and whose runs may overlap too."""
    overlaps = ("skip", "queue", "newest", "replace", {"allow": 2}, {"queue": 1})
    jobs: dict[str, Any] = {}
    for number in range(random.randint(3, 6)):
        retry = {"max_attempts": random.choice((1, 1, 2)), "backoff": "fixed", "min_seconds": 1, "max_seconds": 5}
        job: dict[str, Any] = TARGET | {"timeout_seconds": 5, "retry": retry}
        if random.random() < 0.4:
            job |= {"completion": "callback", "completion_seconds": random.choice((10, 20))}
            job |= random.choice(({}, {"heartbeat_seconds": 5}))
        if random.random() < 0.4:
            job["overlap"] = random.choice(overlaps)
        if random.random() < 0.2:
            job["start_deadline_seconds"] = random.choice((3, 20))
        if random.random() < 0.2:
            job["delivery"] = "at_most_once"
        if random.random() < 0.15:
            job["pause_on_failure"] = 2
        before = sorted(random.sample(list(jobs), min(number, random.choice((0, 1, 1, 2)))))
        if before and random.random() < 0.5:
            job["payload"] = {"of": f"{{{{upstream.{before[0]}.{random.choice(('result', 'state', 'run_id'))}}}}}"}
        after = {"after": before, "when": random.choice(RULES)} if before else {}
        may_fail = {"may_fail": True} if random.random() < 0.2 else {}
        jobs[f"m{number}"] = {"job_id": f"m{number}", "job": job} | after | may_fail
    made: dict[str, Any] = {"schedule": None, "deadline_seconds": random.choice((60, 120)), "jobs": jobs}
    made["overlap"] = random.choice((*overlaps, "allow", "allow"))
    if random.random() < 0.5:
        made |= {"schedule": random.choice(("rate(15 seconds)", "*/30 * * * * *")), "lasting": begin + 90}
        policy = random.choice(("skip", "run_once", "run_all"))
        made["missed"] = {"policy": policy, "grace_seconds": random.choice((5, 60)), "max_missed": 3}
    if random.random() < 0.2:
        made |= {"finish_by": random.choice((10, 30)), "on_deadline": "cancel"}
    return made


def steps(made: list[Operation]) -> list[str]:
    """The names of all jobs that workflows of these operations have."""
    return sorted({name for each in made if each.what == "put" for name in each.more["body"]["jobs"]})
