"""The function of the callbacks' routes, separate from the API: it accepts requests without authorization, and programs
that work on runs depend on it. Neither kind of request can take the other's concurrency.
"""

from constructs import Construct

from infra.functions.python_function import PythonFunction
from infra.parts import SharedResources


def callbacks(scope: Construct, parts: SharedResources) -> PythonFunction:
    """It reads a run and its job, writes heartbeats, and sends the others into the run's lane."""
    jobs, runs, lanes = parts.jobs, parts.runs, parts.lanes
    function = PythonFunction(
        scope,
        "Callbacks",
        runtime=parts.runtime,
        source="callbacks",
        description="Duecourse: heartbeats, completions and failures of runs with a callback",
        timeout_seconds=29,  # an HTTP API gives up after 30 s
        memory_mb=512,
        reserved_concurrency=parts.config.reserved_concurrency.callbacks,
        environment=parts.settings("JOBS_TABLE", "RUNS_TABLE", "SHARDS") | lanes.environment,
    )
    function.allow(["dynamodb:GetItem"], [jobs.arn])
    function.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], [runs.arn])  # UpdateItem: heartbeats
    function.allow(["sqs:SendMessage"], lanes.arns)
    return function
