"""Runs as the client reads them."""

from datetime import datetime
from typing import Any

from duecourse.client.models import Run


def shown_run(run_id: str, due: datetime, state: str = "SUCCEEDED", **fields: Any) -> Run:
    """A run of the job that its id names, due at its occurrence, as the API answers it."""
    document = {
        "id": run_id,
        "job_id": run_id.partition(".")[0],
        "state": state,
        "occurrence": due.isoformat(),
        "due": due.isoformat(),
        "attempts": 1,
        "max_attempts": 3,
        "count": 1,
    }
    return Run.from_document(document | fields)
