"""What people do to jobs over the API, in a world: edit, pause, resume, delete."""

from __future__ import annotations

from typing import Any

from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import Precision
from duecourse.domain.runs.states import RunState
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.targets.targets import HttpTarget
from duecourse.ports import Clock
from duecourse.usecases.dispatch.skipping import Skipping
from duecourse.usecases.jobs.draft import Draft
from duecourse.usecases.jobs.edit_jobs import Edited, EditJobs
from duecourse.usecases.jobs.jobs import Jobs
from duecourse.usecases.jobs.membership import Membership
from duecourse.usecases.jobs.pausing import Pausing
from tests.support.tasks import Registered
from tests.support.world import World


class Office:
    """A world whose jobs are edited as over the API."""

    def __init__(self, world: World, clock: Clock | None = None) -> None:
        """`clock` is that of the API's machine, the world's own unless it is given."""
        self.world = world
        clock = clock or world.clock
        skipping = Skipping(world.run_store, clock, 90)
        self.jobs = Jobs(
            world.jobs, world.wheel, clock, world.randomness, 840, Registered(), Membership(world.jobs, world.workflows)
        )
        self.editing = EditJobs(self.jobs, world.jobs, skipping, clock)
        self.pausing = Pausing(self.jobs, world.jobs, skipping, world.lines, clock)

    def edit(self, job_id: str = "tick-tock", expression: str | None = None, **changes: Any) -> Edited:
        def draft_for(found: Job) -> Draft:
            asked = {name: getattr(found, name) for name in Draft.__dataclass_fields__} | changes
            if expression is not None:
                asked["schedule"] = ScheduleSpec(expression)
            return Draft(**asked)

        return self.editing.patch("default", job_id, draft_for)

    def seconds(self, state: RunState = RunState.SUCCEEDED, job_id: str = "tick-tock") -> list[int]:
        """Seconds after NOON of the occurrences that the records in a state cover."""
        return [second for second, found in self.world.states(job_id) if found is state]

    def job(self, job_id: str = "tick-tock") -> Job:
        found = self.world.jobs.get("default", job_id)
        assert found is not None
        return found

    def pause(self, job_id: str = "tick-tock") -> None:
        self.pausing.pause("default", job_id)

    def resume(self, job_id: str = "tick-tock", *, catch_up: bool = False) -> None:
        self.pausing.resume("default", job_id, catch_up=catch_up)

    def create(self, expression: str, job_id: str = "tick-tock", **asked: Any) -> Job:
        """Create a job, and send its first runs at once."""
        target = HttpTarget("http://127.0.0.1:9/hook")
        draft = Draft(
            tenant="default",
            id=job_id,
            schedule=ScheduleSpec(expression),
            target=target,
            precision=Precision.SECOND,
            **asked,
        )
        return self.jobs.create(draft).view.job

    def delete(self, job_id: str = "tick-tock") -> None:
        self.jobs.delete("default", job_id)
