"""Every handler that catches all exceptions, and why: an error of a store must not count as one of what was read.

A handler may catch everything only if it makes no permanent decision about the job, cursor or run in hand: it reports,
leaves the work to be repeated, raises again, or ends a call whose outcome is unknown anyway.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "layers/duecourse/python/duecourse"
BROAD = {"Exception", "BaseException"}

REASONS = {
    "functions/dispatch/handler.py:handler": "logs and counts; the next tick repeats the round",
    "adapters/shared_cache.py:_fetch": "raised again in every thread that waits for the answer",
    "adapters/aws/transport.py:_exchange": "closes the connection and raises again",
    "adapters/aws/transport.py:_secured": "closes the connection and raises again",
    "adapters/targets/aws/aws_call.py:_outcome": "raised again unless it is an error of boto3",
    "adapters/targets/http/connection.py:run": "raised again where the result is read",
    "adapters/targets/http/connection.py:_errors_named": "raised again as the error of a response that cannot be read",
    "adapters/targets/http/connection.py:_secure": "closes the connection and raises again",
    "api/answers.py:_answered": "logs and answers 500 or 503; nothing is stored",
    "api/app.py:answer": "raised again unless it is a known refusal",
    "api/callback_app.py:answer": "raised again unless it is a known refusal",
    "api/routes/batch.py:create_jobs": "answers 500 or 503 for this job; the jobs before it are reported as created",
    "api/routes/batch.py:_kept": "answers the error for these jobs",
    "api/routes/manual.py:_one_of_many": "answers 500 or 503 for this run; the runs before it are reported",
    "api/routes/workflows.py:put_workflow": "answers the refusal with the jobs that are written, or raises again",
    "cli/cases.py:answer": "answers the error for this case; the other cases go on",
    "cli/imports/entry.py:converted": "listed as the outcome of this entry; the other entries are imported",
    "cli/local/emulator/ministack.py:__enter__": "stops the process and raises again",
    "testing/targets.py:_answered": "kept for the test and raised again",
    "usecases/dispatch/round.py:run": "logs and counts; the next round repeats what is not claimed",
    "usecases/dispatch/claim.py:_announce": "logs and counts the notice; the records of the claim are written",
    "usecases/dispatch/claim.py:_on_time": "leaves the cursor to the next round; it stays in the index",
    "usecases/dispatch/round.py:_resume": "reported as an error of this job; the others go on",
    "usecases/dispatch/claim.py:_claim": "leaves the claim to the next round; the cursor stays in the index",
    "usecases/dispatch/tick.py:_look": "logs; the shard is woken, and its round finds the error",
    "usecases/dispatch/tick.py:search": "the shard keeps its mark; the next tick searches it again",
    "usecases/dispatch/tick.py:_marks": "logs; all shards are woken",
    "usecases/dispatch/tick.py:_mark": "logs; the rounds have begun and the next tick writes the mark",
    "usecases/dispatch/watch.py:before": "counts; the tick goes on, and the next one looks again",
    "usecases/dispatch/watch.py:after": "counts; the tick has sent its messages, and the next one looks again",
    "usecases/dispatch/watch.py:_concurrency": "logs; the quota is compared again in the next hour",
    "usecases/jobs/batch.py:_new": "the answer for this job, of which nothing is written",
    "usecases/jobs/batch.py:_refused": "the answer for this job",
    "usecases/jobs/batch.py:_written": "the answer for these jobs; the others are written by themselves",
    "usecases/jobs/change.py:send_all": "the jobs are written; the answer says what was not sent; the next tick sends",
    "usecases/maintenance/archive.py:_write": "counts; the handler gives the batch back",
    "usecases/maintenance/audit.py:__call__": "counts; the next invocation repeats the page",
    "usecases/maintenance/calendar_check.py:_follow": "counts; the next pass edits the job",
    "usecases/maintenance/index_repair.py:__call__": "counts; the next invocation repeats the page",
    "usecases/maintenance/index_repair.py:_clean_up": "counts; the next pass tries the job again",
    "usecases/maintenance/report.py:__call__": "logs; the worker requests the report again",
    "usecases/maintenance/reconcile.py:__call__": "lets the messages become visible and raises again",
    "usecases/maintenance/reconcile.py:_look": "counts; the message stays in the dead-letter queue",
    "usecases/maintenance/reconcile.py:_receive": "counts; the next call receives the messages",
    "usecases/run_counts.py:_write": "logs; the counts are kept for a later write",
    "usecases/dispatch/prescale.py:after_tick": "logs and counts; runs start without it, only later",
    "usecases/dispatch/prescale.py:_tried": "logs and counts; no request may stop the others",
    "usecases/worker/call.py:list_long": "the call goes on without the list",
    "usecases/worker/call.py:call": "ends the attempt: the target may have been called; a workflow was tried again",
    "usecases/standby.py:stopped": "reported; nothing starts, and the next call reads the fence again",
    "usecases/worker/attempt.py:_begin": "nothing is written; gives the probe back and raises again",
    "usecases/worker/attempt.py:_pause_key": "counts; the run ends, and its key goes on without a pause",
    "usecases/worker/attempt.py:_record_outcome": "the run ends, and the gate goes on without this outcome",
    "usecases/worker/attempt.py:_with_located_result": "the run has succeeded; it records the reason of the failure",
    "usecases/worker/attempt.py:_with_stored_result": "the run has succeeded; it keeps the beginning of its result",
    "usecases/worker/wait_queue.py:abandon": "the message is delivered again; the wait queue's watch replaces the call",
    "usecases/worker/wait_queue.py:left": "the attempt is recorded, its call must follow; the watch repeats it",
    "usecases/worker/attempt.py:_continue": "the message stays in its queue; its operation continues with it",
    "usecases/worker/attempt.py:handle": "the message stays in its queue, or is sent again near its receive limit",
    "usecases/worker/executions.py:ended": "logs and counts; the event is delivered again, and the run checks hourly",
    "usecases/worker/executions.py:has_ended": "logs an error and retries within an hour; the run keeps waiting",
    "usecases/worker/executions.py:follow": "logs an error; the run notices the end of its execution within an hour",
    "usecases/worker/logs.py:keep": "logs and counts; the log is lost, and the attempt has ended",
    "usecases/worker/executions.py:stop": "logs and counts; the run has ended, and its next attempt starts",
    "usecases/worker/requeue.py:requeue": "the message is sent again, later than the attempt that may be alive",
    "usecases/worker/effects.py:_pause_failing": "counts; the next delivery of the message repeats it",
    "usecases/workflows/manage.py:put": "releases the claims and raises again",
    "usecases/write_retry.py:until_deadline": "tries again, and raises the last error",
    "worker/handling.py:_perform": "an error of the user's task; reported to the API as the end of its attempt",
    "worker/keeper.py:_attempt": "logs and tries again; the task goes on",
    "worker/log_sender.py:finish": "logs; the rest of the log is lost, and the result is reported",
    "worker/log_sender.py:_work": "logs; the task continues, and the same lines are sent again",
    "worker/worker.py:_handle": "logs; the message stays in its queue",
}
"""By file (below the package unless it is a function's) and function."""


def broad_handlers(tree: ast.AST, function: str = "") -> Iterator[str]:
    """The functions that have a handler of all exceptions, once for each handler."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(node, ast.ExceptHandler) and catches_all(node.type):
            yield function
        yield from broad_handlers(node, inner)


def catches_all(caught: ast.expr | None) -> bool:
    """Whether a handler's type names all exceptions."""
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return caught is None or any(isinstance(name, ast.Name) and name.id in BROAD for name in names)


def found() -> list[str]:
    sources = [*ROOT.glob("functions/**/*.py"), *ROOT.glob(f"{PACKAGE}/**/*.py"), *ROOT.glob("schedules/src/**/*.py")]
    places = ((path.relative_to(ROOT).as_posix().removeprefix(f"{PACKAGE}/"), path) for path in sources)
    return sorted(
        f"{place}:{function}" for place, path in places for function in broad_handlers(ast.parse(path.read_text()))
    )


def test_broad_excepts_each_have_a_reason() -> None:
    assert found() == sorted(REASONS)


def test_broad_excepts_are_recognized_in_every_form() -> None:
    source = "def f():\n try: g()\n except {}: pass\n"
    broad = ["Exception", "BaseException as e", "(OSError, Exception)", ""]
    assert [list(broad_handlers(ast.parse(source.format(caught)))) for caught in broad] == [["f"]] * 4
    assert list(broad_handlers(ast.parse(source.format("(OSError, ValueError)")))) == []
