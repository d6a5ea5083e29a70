"""The function of the callback routes. It is separate from the API because it accepts requests without authorization,
and because active runs depend on it. The two functions cannot use up each other's concurrency.
"""

from constructs import Construct

from duecourse.limits import API_SECONDS
from infra.functions.python_function import PythonFunction
from infra.nag import acknowledge_wildcards
from infra.parts import SharedResources


def callbacks(scope: Construct, parts: SharedResources) -> PythonFunction:
    """Return the function. It reads a run and its job, writes heartbeats and logs, and sends completions and failures
    to the queue of callbacks. It cannot send to lanes: their messages can start runs. It cannot read logs.
    """
    jobs, runs, queue = parts.jobs, parts.runs, parts.lanes.callbacks
    function = PythonFunction(
        scope,
        "Callbacks",
        runtime=parts.runtime,
        source="callbacks",
        description="Duecourse: heartbeats, logs, completions and failures of runs with a callback",
        timeout_seconds=API_SECONDS,
        memory_mb=512,
        reserved_concurrency=parts.config.reserved_concurrency.callbacks,
        environment=parts.settings("JOBS_TABLE", "RUNS_TABLE", "SHARDS", "RESULTS_BUCKET")
        | {"DUECOURSE_CALLBACK_URL": queue.queue_url},
    )
    function.allow(["dynamodb:GetItem"], [jobs.arn])
    function.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], [runs.arn])  # UpdateItem: heartbeats
    function.allow(["sqs:SendMessage"], [queue.queue_arn])
    function.allow(["s3:PutObject"], [parts.results.logs_arn])
    reason = "Logs are objects of runs, whose names are not known when the role is created."
    acknowledge_wildcards(function, reason, [parts.results.logs_arn])
    return function
