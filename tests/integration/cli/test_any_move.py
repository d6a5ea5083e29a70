"""One plan moves jobs from any arrangement of workflows and own schedules to any other one."""

import json
from collections.abc import Iterator
from random import Random

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.main import main
from tests.support.api import HTTP_TARGET
from tests.support.api_events import jwt_caller
from tests.support.served_api import ServedApi, served_api
from tests.support.unchanged import CALLERS, Office

JOBS, WORKFLOWS = "abcde", ("left", "middle", "right")
Places = dict[str, tuple[str, bool]]
"""Of each job: its workflow, `schedule` or `none`, and whether the workflow defines it."""


@pytest.fixture
def office() -> Office:
    return Office(quota=100)


@pytest.fixture
def api(office: Office) -> Iterator[ServedApi]:
    office.api.caller = jwt_caller("default", *CALLERS["everything"])
    with served_api(office.api) as served:
        yield served


def drawn(random: Random) -> Places:
    """An arrangement in which each workflow has a job."""
    places = {job: random.choice((*WORKFLOWS, "schedule", "none")) for job in JOBS}
    places |= dict(zip(random.sample(JOBS, len(WORKFLOWS)), WORKFLOWS, strict=True))
    return {job: (place, place in WORKFLOWS and random.random() < 0.3) for job, place in places.items()}


def documents(places: Places, random: Random) -> str:
    """The documents of an arrangement. Some steps come after others and have their states in their payloads."""
    found = []
    for workflow in WORKFLOWS:
        steps: dict[str, object] = {}
        for job in [job for job, (place, _) in places.items() if place == workflow]:
            upstream = random.sample([*steps], min(len(steps), random.randint(0, 1)))
            own = {"target": HTTP_TARGET, "payload": [f"{{{{upstream.{name}.state}}}}" for name in upstream]}
            steps[job] = {"after": upstream, "job_id": job} | ({"job": own} if places[job][1] else {})
            if not places[job][1]:
                found.append({"id": job, "schedule": None, **own})
        zone = random.choice(("UTC", "Asia/Tokyo"))
        found.append({"workflow": workflow, "schedule": "0 3 * * *", "timezone": zone, "jobs": steps})
    at = {"schedule": "@daily", "none": None}
    found += [
        {"id": job, "schedule": at[place], "target": HTTP_TARGET} for job, (place, _) in places.items() if place in at
    ]
    random.shuffle(found)
    return "---\n".join(f"{json.dumps(each)}\n" for each in found)


def apply(api: ServedApi, text: str, *more: str) -> Result:
    return CliRunner(env={"DUECOURSE_API": api.address, "DUECOURSE_TOKEN": None}).invoke(
        main, ["apply", "-f", "-", *more], input=text
    )


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(3, 40))]
)
def test_any_move_is_one_plan(office: Office, api: ServedApi, seed: int) -> None:
    random = Random(seed)
    for _ in range(3):
        places = drawn(random)
        text = documents(places, random)
        stored = office.stored()
        planned = apply(api, text, "--dry-run")
        assert planned.exit_code == 2, planned.output
        assert office.stored() == stored
        applied = apply(api, text, "--yes")
        assert applied.exit_code == 0, (planned.output, applied.output)
        for job, (place, _) in places.items():
            assert office.job(job).workflow == (place if place in WORKFLOWS else None)
            assert bool(office.job(job).schedule.expression) == (place == "schedule")
        assert office.job_ids == {*JOBS, *WORKFLOWS}
        again = apply(api, text, "--dry-run")
        assert again.exit_code == 0, again.output
