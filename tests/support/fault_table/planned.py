"""Stories of edits that move occurrences ahead of time: planned pauses, windows that are caught up, spreads."""

from collections.abc import Callable

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.calendars import CalendarDays
from duecourse.domain.jobs.cursor import PlannedResume
from duecourse.domain.jobs.job import Job, Spread
from duecourse.domain.jobs.spread import Place
from duecourse.domain.tenants.rate import free
from duecourse.usecases.jobs.change import Draft
from duecourse.usecases.jobs.pausing import BulkResult, JobSelection
from duecourse_schedules.packed import CATCH_UP
from tests.support.fault_table.stage import Stage
from tests.support.fault_table.story import RAN, Story
from tests.support.jobs import NOON

ERP = JobSelection("erp")
EVERY_JOB = JobSelection()
OTHER = "other"


def _all(request: Callable[[], BulkResult]) -> Callable[[], None]:
    """A caller of a request for many jobs, which fails if one of them fails."""

    def ask() -> None:
        if failed := request().failed:
            raise OSError(f"not changed: {failed}")

    return ask


def _plan_many(stage: Stage, choice: JobSelection, start: int, end: int, *, catch_up: bool) -> None:
    planned = PlannedResume(int(NOON) + end, catch_up)
    pausing = stage.office.api.pausing
    stage.ask(_all(lambda: pausing.pause_many("default", choice, by="anna", start=int(NOON) + start, end=planned)))


def _planned(stage: Stage) -> None:
    stage.put("3-19/4 12 * * *", max_runs=3)
    stage.at(370)
    pausing, end = stage.office.api.pausing, PlannedResume(int(NOON) + 725)
    stage.ask(lambda: pausing.pause("default", "tick-tock", start=int(NOON) + 400, end=end))
    stage.at(1150)


def _planned_for_a_tag(stage: Stage) -> None:
    stage.put("3-19/4 12 * * *", max_runs=3, tags=("erp",))
    stage.put("4-20/4 12 * * *", OTHER, max_runs=3, tags=("erp",))
    stage.at(370)
    _plan_many(stage, ERP, 400, 1000, catch_up=False)
    stage.at(745)
    resume = stage.office.api.pausing.resume_many
    stage.ask(_all(lambda: resume("default", ERP, catch_up=False, by="anna")))
    stage.at(1210)


def _planned_for_all(stage: Stage) -> None:
    stage.put("3-19/4 12 * * *", max_runs=4)
    excluded = to_iso(NOON + 725)  # so its occurrence after the pause is a second later
    stage.put("4-20/4 12 * * *", OTHER, max_runs=4, exclude=(excluded,))
    stage.at(370)
    _plan_many(stage, EVERY_JOB, 400, 545, catch_up=True)
    stage.at(500)
    _plan_many(stage, EVERY_JOB, 545, 725, catch_up=True)
    stage.at(1210)


def _caught_up_window(stage: Stage) -> None:
    calendars = stage.office.api.calendars
    stage.ask(_all(lambda: calendars.put("default", "erp", [], "", by="anna").jobs))
    stage.put("3-19/4 12 * * *", max_runs=4, exclude=(CalendarDays("erp"),))
    stage.at(370)
    window = f"{to_iso(NOON + 400)}/{to_iso(NOON + 725)}{CATCH_UP}"
    stage.ask(_all(lambda: calendars.put("default", "erp", [window], "", by="anna").jobs))
    stage.at(1150)


def _spread(stage: Stage, job_id: str, spread: Spread | None) -> None:
    """PATCH the spread of a job."""
    api = stage.office.api

    def draft_for(job: Job) -> Draft:
        asked = {name: getattr(job, name) for name in Draft.__dataclass_fields__}
        return api.spreading.chosen(Draft(**asked | {"spread": spread}), job, free).draft

    stage.ask(lambda: api.editing.patch("default", job_id, draft_for))


def _spread_out(stage: Stage) -> None:
    stage.put("3-15/6 12 * * *", max_runs=3)
    stage.put("5-17/6 12 * * *", OTHER, max_runs=3)
    stage.at(150)
    api, found = stage.office.api, dict[str, object]()

    def plan() -> None:
        jobs = [stage.office.job("tick-tock"), stage.office.job(OTHER)]
        found.update(api.spreading.plan("default", jobs, 4, free))

    stage.ask(plan)
    for job_id, place in found.items():
        assert isinstance(place, Place)
        _spread(stage, job_id, Spread(4, place.offset_minutes))
    stage.at(1310)


def _spread_removed(stage: Stage) -> None:
    stage.put("3-15/6 12 * * *", max_runs=3, spread=Spread(5, 4))
    stage.at(210)
    _spread(stage, "tick-tock", None)
    stage.at(910)


STORIES = (
    Story(
        "planned pause",
        "At 12:06, a pause from 12:06:40 to 12:12:05 is planned for a job that is due at 12:03, 12:07 … 12:19.",
        _planned,
        {180: RAN, 900: RAN, 1140: RAN},
    ),
    Story(
        "planned pause of a tag, resumed",
        "The same job has a tag, as has a job due at 12:04, 12:08 … 12:20. Both pauses are resumed at 12:12:25.",
        _planned_for_a_tag,
        {180: RAN, 240: RAN, 900: RAN, 960: RAN, 1140: RAN, 1200: RAN},
        side_by_side=True,
    ),
    Story(
        "planned pause of all jobs, caught up",
        "A pause with catch-up from 12:06:40 to 12:09:05 of both jobs is extended to 12:12:05 at 12:08:20.",
        _planned_for_all,
        {180: RAN, 240: RAN, 725: RAN, 726: RAN, 900: RAN, 960: RAN, 1140: RAN, 1200: RAN},
        side_by_side=True,
    ),
    Story(
        "window of a calendar, caught up",
        "At 12:06, the calendar of the first job gets a window from 12:06:40 to 12:12:05 with `/catch_up`.",
        _caught_up_window,
        {180: RAN, 725: RAN, 900: RAN, 1140: RAN},
    ),
    Story(
        "spread",
        "Jobs due at 12:03, 12:09, 12:15 and at 12:05, 12:11, 12:17 are spread over 4 minutes at 12:02:30.",
        _spread_out,
        {180: RAN, 300: RAN, 540: RAN, 660: RAN, 900: RAN, 1020: RAN},
        side_by_side=True,
    ),
    Story(
        "spread removed",
        "A job due at 12:03, 12:09 and 12:15 runs 4 minutes later. At 12:03:30, its `spread` is removed.",
        _spread_removed,
        {180: RAN, 540: RAN, 900: RAN},
    ),
)
