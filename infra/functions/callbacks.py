"""The function of the callback routes. It is separate from the API because it accepts requests without authorization,
and because active runs depend on it. The two functions cannot use up each other's concurrency.
"""

from constructs import Construct

from infra.functions.python_function import PythonFunction
from infra.parts import SharedResources


def callbacks(scope: Construct, parts: SharedResources) -> PythonFunction:
    """Return the function. It reads a run and its job, writes heartbeats, and sends completions and failures to the
    run's lane.
    """
    jobs, runs, lanes = parts.jobs, parts.runs, parts.lanes
    function = PythonFunction(
        scope,
        "Callbacks",
        runtime=parts.runtime,
        source="callbacks",
        description="Duecourse: heartbeats, completions and failures of runs with a callback",
        timeout_seconds=29,  # an HTTP API has a timeout of 30 s
        memory_mb=512,
        reserved_concurrency=parts.config.reserved_concurrency.callbacks,
        environment=parts.settings("JOBS_TABLE", "RUNS_TABLE", "SHARDS") | lanes.environment,
    )
    function.allow(["dynamodb:GetItem"], [jobs.arn])
    function.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], [runs.arn])  # UpdateItem: heartbeats
    function.allow(["sqs:SendMessage"], lanes.arns)
    return function
