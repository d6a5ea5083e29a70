"""Stories of runs that die, come back, or are ended by whoever works on them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from duecourse.domain.jobs.job import Backoff, Completion, EventKind, OnDeadline, RetryPolicy
from duecourse.domain.runs.callbacks import CallbackToken, ProgressReport, read_token
from duecourse.domain.targets.targets import Execution, ExecutionService, Failed, Returned
from duecourse.usecases.runs.commands import AttemptOverError, BadTokenError, Callbacks, NotDeadError, RunEndedError
from duecourse.usecases.worker.executions import AGAIN_SECONDS
from duecourse.usecases.worker.work_item import Disposition
from tests.support.fault_table.ending import ending
from tests.support.fault_table.stage import Stage
from tests.support.fault_table.story import RAN, Fate, Story

TWICE = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
NO = Failed("HTTP 500: no", code="http.500")
RUN_ID = "tick-tock.20261121T120400Z"


def _fails(stage: Stage) -> None:
    stage.target.answers[240] = [NO] * 9
    stage.put("4 12 * * *", max_runs=1, retry=TWICE)
    stage.at(300)


def _dies_and_pauses(stage: Stage) -> None:
    stage.target.answers[240] = [NO] * 9
    stage.put("4,9,14 12 * * *", max_runs=3, retry=TWICE, pause_on_failure=1)
    stage.at(850)


def _redriven(act: Callable[[Stage], None], seconds: int) -> Callable[[Stage], None]:
    """Somebody looks each minute, and acts once the run is dead and its message among the dead letters."""

    def play(stage: Stage) -> None:
        _fails(stage)
        for second in range(300, 3600, 60):
            stage.at(second)
            if stage.wheel.dead_letters and any(record.state == "DEAD" for record in ending(stage).records):
                break
        stage.target.answers.clear()
        act(stage)
        stage.at(stage.target.clock.now() % 86_400 - 43_200 + seconds)

    return play


def _by_the_console(stage: Stage) -> None:
    stage.wheel.redrive()


def _by_the_api(stage: Stage) -> None:
    stage.ask(lambda: stage.api.commands.redrive("default", RUN_ID), NotDeadError)


def _cancelled_late(stage: Stage) -> None:
    stage.put(
        "4 12 * * *",
        max_runs=1,
        completion=Completion.CALLBACK,
        completion_seconds=1800,
        finish_by=1200,
        on_deadline=OnDeadline.CANCEL,
        events=(EventKind.DEADLINES,),
    )
    stage.at(2100)


def _called_back(stage: Stage, worker: str | None = None) -> None:
    """Whoever works on the run gives a sign of life after a minute and completes it half a minute later."""
    stage.put("4 12 * * *", max_runs=1, completion=Completion.CALLBACK, completion_seconds=1200, heartbeat_seconds=300)
    callbacks = stage.api.callbacks
    over = (RunEndedError, AttemptOverError, BadTokenError)
    beaten = done = 0
    for second in range(240, 1800, 10):
        stage.at(second)
        calls, now = stage.target.calls, stage.clock.now()
        if beaten < len(calls) and now >= calls[beaten].at + 60:
            token = read_token(str(stage.target.tokens[beaten]))
            stage.ask(partial(_beat, callbacks, token, worker), *over)
            beaten += 1
        if done < len(calls) and now >= calls[done].at + 90:
            token = read_token(str(stage.target.tokens[done]))
            if stage.ask(partial(_complete, callbacks, token, worker), *over):
                calls[done] = replace(calls[done], fine=True)
            done += 1
        if done and second >= 620 and done == len(calls):
            return


def _beat(callbacks: Callbacks, token: CallbackToken, worker: str | None) -> None:
    run = callbacks.admitted(RUN_ID, token)
    callbacks.heartbeat(run, token, ProgressReport(worker=worker))
    callbacks.workers.note(run, worker)


def _complete(callbacks: Callbacks, token: CallbackToken, worker: str | None) -> None:
    callbacks.complete(callbacks.admitted(RUN_ID, token), "done", worker)


def _followed(stage: Stage) -> None:
    """Each execution that a call has started ends 90 s later, and the event bus reports it until it is settled."""
    stage.put("4 12 * * *", max_runs=1, completion=Completion.END)
    reported: dict[int, int] = {}
    settled: set[int] = set()
    for second in range(240, 4800, 10):
        stage.at(second)
        for number, call in enumerate(stage.target.calls):
            tries = reported.get(number, 0)
            if number in settled or stage.clock.now() < call.at + 90 + tries * AGAIN_SECONDS:
                continue
            execution = Execution(ExecutionService.STATES, f"{RUN_ID}/{call.attempt}")
            stage.executions.outcomes[execution.id] = Returned("done")
            reported[number] = tries + 1
            lived, disposition = stage.danger.process(
                "worker", partial(stage.report_end, execution, tries=reported[number])
            )
            stage.work()
            if lived and disposition is Disposition.ACK:
                settled.add(number)
        if second >= 620 and len(settled) == len(stage.target.calls) and not ending(stage).left:
            return


DEAD = Fate(("DEAD",), 2)
BACK = Fate(("SUCCEEDED",), 3)
STORIES = (
    Story("dies", "The run of 12:04 fails, and its last attempt fails five seconds later.", _fails, {240: DEAD}),
    Story(
        "dies and pauses its job",
        "The same failure, for a job with `pause_on_failure: 1` that is also due at 12:09 and 12:14.",
        _dies_and_pauses,
        {240: DEAD},
        job="PAUSED",
    ),
    Story(
        "redriven by the console",
        "The dead run is redriven from the dead-letter queue in the AWS console, and succeeds.",
        _redriven(_by_the_console, 10),
        {240: BACK},
    ),
    Story(
        "redriven by the API",
        "The dead run is redriven through the API. The dead-letter reconciler then removes the dead letter.",
        _redriven(_by_the_api, 310),
        {240: BACK},
    ),
    Story(
        "missed deadline",
        "A run that has waited for its callback since 12:04 is cancelled at its deadline, 12:24.",
        _cancelled_late,
        {240: Fate(("CANCELLED",), 1, late=True)},
    ),
    Story(
        "callback",
        "A run with a callback calls its target at 12:04. The target sends a heartbeat a minute later and completes "
        "the run 30 s after that.",
        _called_back,
        {240: RAN},
    ),
    Story(
        "callback of a named worker",
        "The same run. The worker names itself in its heartbeat and completion, and is noted for the list of workers.",
        partial(_called_back, worker="host-7"),
        {240: RAN},
    ),
    Story(
        "execution",
        "The call at 12:04 starts an execution, which ends 90 s later. The event bus reports its end.",
        _followed,
        {240: RAN},
    ),
)
