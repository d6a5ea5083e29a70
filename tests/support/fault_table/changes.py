"""Stories of jobs that are changed while they run: paused, edited, deleted, backfilled."""

from collections.abc import Callable
from functools import partial

from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.jobs.job import Overlap
from duecourse.domain.runs.api_keys import ApiKey, KeyText
from duecourse.domain.tenants.rate import free
from duecourse.usecases.jobs.change import Draft, RequestKey
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.runs.api_keys import ApiKeyDraft, ApiKeys
from duecourse.usecases.runs.requests import Later, OwnPayload, RunRequest
from tests.support.fault_table.stage import Stage
from tests.support.fault_table.story import NOT_RUN, RAN, Story
from tests.support.jobs import NOON, job

DAY = 86_400


def _paused(*, catch_up: bool) -> Callable[[Stage], None]:
    def play(stage: Stage) -> None:
        stage.put("3-19/4 12 * * *", max_runs=5 if catch_up else 3)
        stage.at(360)
        stage.ask(stage.office.pause)
        stage.at(725)
        stage.ask(lambda: stage.office.resume(catch_up=catch_up))
        stage.at(1150)

    return play


def _paused_until(stage: Stage) -> None:
    stage.put("3-19/4 12 * * *", max_runs=3)
    stage.at(360)
    stage.ask(lambda: stage.office.pause(until=int(NOON) + 725))
    stage.at(1150)


def _edited(stage: Stage) -> None:
    stage.put("3,5,9 12 * * *", max_runs=3)
    stage.at(200)
    stage.ask(lambda: stage.office.edit(expression="7,11 12 * * *"))
    stage.at(670)


def _edited_after_an_outage(stage: Stage) -> None:
    stage.put("3-20 12 * * *", max_runs=8)
    stage.at(470, ticking=False)
    stage.ask(lambda: stage.office.edit(expression="10,14 12 * * *", max_runs=7))
    stage.at(850)


def _deleted(stage: Stage) -> None:
    stage.put("3,7,9 12 * * *", max_runs=3)
    stage.at(360)
    stage.ask(stage.office.delete, JobUnknownError)
    stage.at(390)
    stage.put("7,11 12 * * *", max_runs=2)
    stage.at(670)


def _backfilled(stage: Stage) -> None:
    stage.put("0 6 * * *")
    asked = Backfill(since=int(NOON) - 3 * DAY, until=int(NOON), pace_seconds=600)
    office = stage.office
    job = stage.office.job()
    stage.ask(lambda: office.api.backfills.start(job, asked, RunRequest("anna", "the key of the request")))
    stage.at(1270)


def _backfilled_one_at_a_time(stage: Stage) -> None:
    stage.put("0 6 * * *", overlap=Overlap.ALLOW)
    asked = Backfill(since=int(NOON) - 2 * DAY, until=int(NOON), at_once=1)
    office, job, request = stage.office, stage.office.job(), RunRequest("anna", "the key of the request")
    key = f"{job.id}{request.suffix('b', job, '')}"
    stage.ask(lambda: office.api.key_limits.put("default", key, 0, by="anna"))
    stage.ask(lambda: office.api.backfills.start(job, asked, request))
    stage.at(120)
    stage.ask(lambda: office.api.key_limits.put("default", key, 1, by="anna"))
    stage.at(160)


def _trigger(keys: ApiKeys, made: list[ApiKey], payload: OwnPayload) -> None:
    keys.run(made[-1], keys.job(made[-1]), payload, None, "c")


def _triggered(stage: Stage) -> None:
    stage.put("0 6 * * *")
    keys, made = stage.office.api.api_keys, list[ApiKey]()
    draft = ApiKeyDraft("tick-tock", debounce_seconds=600)
    request = RequestKey("d" * 64, "r" * 64)
    stage.ask(lambda: made.append(keys.create("default", draft, by="anna", request=request)[0]))
    stage.at(200)
    # A repeated request would open the window later (the faults of this write: tests/scenarios/jobs/test_debounced.py).
    group = made[-1].debounced({})
    assert group is not None
    assert stage.stored.inputs().open_window("default", "tick-tock", group, int(NOON) + 800, instead_of=None)
    payloads = [OwnPayload({"request": number}) for number in (1, 2, 3)]
    for payload in payloads:
        stage.ask(partial(_trigger, keys, made, payload))
    stage.at(900)


def _rescheduled(stage: Stage) -> None:
    stage.put("0 6 * * *")
    office, asked = stage.office, list[str]()
    request, later = RunRequest("anna", "the key of the request"), Later(at=int(NOON) + 1200)
    stage.ask(lambda: asked.append(office.api.manual.run(office.job(), request, OwnPayload(1), later).run_id))
    stage.at(950)  # the message for the earlier time is sent
    reschedule = office.api.rescheduling
    to = Later(at=int(NOON) + 1800)
    stage.ask(lambda: reschedule(reschedule.unstarted("default", asked[-1]), "anna", OwnPayload(2), to))
    stage.at(1990)


def _keyed(stage: Stage) -> None:
    stage.put("0 6 * * *")
    api, made = stage.office.api, list[tuple[ApiKey, KeyText]]()
    draft = ApiKeyDraft("jobs:write", scopes=frozenset({"jobs:write"}))
    request = RequestKey("d" * 64, "r" * 64)
    stage.ask(lambda: made.append(api.api_keys.create("default", draft, by="anna", request=request)))
    stage.at(200)

    def run() -> None:
        key, job = api.api_keys.caller(made[-1][1].text), api.manual.parts.jobs.get("default", "tick-tock")
        assert job is not None
        api.manual.run(job, RunRequest(key.principal, "named", "c"), None, Later(at=int(NOON) + 500))

    stage.ask(run)
    stage.at(600)


def _promoted(stage: Stage) -> None:
    draft, api = Draft.of(job("3-19/4 12 * * *")), stage.office.api
    stage.ask(lambda: api.editing.put("default", "tick-tock", lambda _: draft, shadow=True))
    stage.at(185)
    stage.ask(lambda: api.shadows.ping("default", "tick-tock", int(NOON) + 180))
    stage.at(365)
    stage.ask(lambda: api.shadows.promote("default", "tick-tock", force=False, charge=free, by="anna"))
    stage.at(1150)


STORIES = (
    Story(
        "paused and resumed",
        "A job due at 12:03, 12:07 … 12:19 is paused after 12:03 and resumed after 12:12.",
        _paused(catch_up=False),
        {180: RAN, 420: NOT_RUN, 660: NOT_RUN, 900: RAN, 1140: RAN},
    ),
    Story(
        "paused and caught up",
        "The same job, but one run covers the occurrences during the pause.",
        _paused(catch_up=True),
        dict.fromkeys(range(180, 1141, 240), RAN),
    ),
    Story(
        "paused until",
        "The same job resumes automatically after 12:12, at the planned end of its pause.",
        _paused_until,
        {180: RAN, 420: NOT_RUN, 660: NOT_RUN, 900: RAN, 1140: RAN},
    ),
    Story(
        "edited",
        "A job that is due at 12:03, 12:05 and 12:09 is changed after 12:03 to 12:07 and 12:11.",
        _edited,
        {180: RAN, 420: RAN, 660: RAN},
    ),
    Story(
        "edited after an outage",
        "A job due each minute from 12:03 is changed to 12:10 and 12:14 before the first tick, at 12:08.",
        _edited_after_an_outage,
        {**dict.fromkeys(range(180, 421, 60), NOT_RUN), 600: RAN, 840: RAN},
    ),
    Story(
        "deleted and re-created",
        "A job due at 12:03, 12:07 and 12:09 is deleted after 12:03 and re-created with 12:07 and 12:11.",
        _deleted,
        {180: RAN, 420: RAN, 660: RAN},
    ),
    Story(
        "backfilled",
        "The last three occurrences of a daily job are backfilled, one every ten minutes.",
        _backfilled,
        {-6 * 3600 - day * DAY: RAN for day in range(3)},
        job="ACTIVE",
    ),
    Story(
        "backfilled one at a time",
        "The last two occurrences of a daily job are backfilled, one at a time. The limit is 0 until 12:02.",
        _backfilled_one_at_a_time,
        {-6 * 3600 - day * DAY: RAN for day in range(2)},
        job="ACTIVE",
    ),
    Story(
        "triggered",
        "Three requests to the trigger URL of a daily job start one run after their window, at 12:13:30.",
        _triggered,
        {810: RAN},
        job="ACTIVE",
    ),
    Story(
        "shadow",
        "A shadow job due at 12:03, 12:07 … 12:19 is pinged for 12:03, and promoted after 12:06.",
        _promoted,
        {180: NOT_RUN, 420: RAN, 660: RAN, 900: RAN, 1140: RAN},
        job="ACTIVE",
    ),
    Story(
        "rescheduled",
        "A run for 12:20 is requested at noon, and rescheduled to 12:30 when its message is sent.",
        _rescheduled,
        {1200: RAN},
        job="ACTIVE",
    ),
    Story(
        "key with scopes",
        "A caller creates an API key, and requests with it that a daily job runs at 12:08:20.",
        _keyed,
        {500: RAN},
        job="ACTIVE",
    ),
)
