"""What routes have in common: what they need, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from duecourse.settings import ApiSettings
from duecourse.usecases.jobs.edit_jobs import EditJobs
from duecourse.usecases.jobs.job_history import JobHistory
from duecourse.usecases.jobs.jobs import Jobs
from duecourse.usecases.jobs.limits import Limits
from duecourse.usecases.jobs.pausing import Pausing
from duecourse.usecases.jobs.preview import Preview
from duecourse.usecases.runs.backfill import Backfills
from duecourse.usecases.runs.callbacks import Callbacks
from duecourse.usecases.runs.commands import Commands
from duecourse.usecases.runs.dead_letters import DeadLetters
from duecourse.usecases.runs.explain import Explain
from duecourse.usecases.runs.health import Health
from duecourse.usecases.runs.history import History
from duecourse.usecases.runs.manual import Manual
from duecourse.usecases.runs.rerun import Reruns
from duecourse.usecases.runs.runs import Runs
from duecourse.usecases.runs.skip_next import SkipNext
from duecourse.usecases.runs.stats import Stats
from duecourse.usecases.workflows.manage import ManageWorkflows
from duecourse.usecases.workflows.view import WorkflowRuns


@dataclass(frozen=True, slots=True)
class Api:
    """The use cases behind the routes, and what the stage allows; `bootstrap.api` makes one."""

    jobs: Jobs
    editing: EditJobs
    pausing: Pausing
    history: History
    job_history: JobHistory
    runs: Runs
    callbacks: Callbacks
    commands: Commands
    dead_letters: DeadLetters
    preview: Preview
    manual: Manual
    backfills: Backfills
    skip_next: SkipNext
    workflows: ManageWorkflows
    workflow_runs: WorkflowRuns
    reruns: Reruns
    explain: Explain
    stats: Stats
    health: Health
    limits: Limits
    settings: ApiSettings


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, and what is noted of it: a stable `action` and its `facts` in the log, `counts` as metrics."""

    status: HTTPStatus
    action: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


def page_answer(
    action: str, items: Sequence[Mapping[str, Any]], next_cursor: str | None, facts: Mapping[str, object]
) -> Answer:
    """A page of a list."""
    body = {"items": list(items), "next_cursor": next_cursor}
    return Answer(HTTPStatus.OK, action, body, facts={**facts, "items": len(items)})
