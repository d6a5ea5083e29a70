"""What routes have in common: what they need, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

from duecourse.http.answers import Document
from duecourse.http.request import Request
from duecourse.settings import ApiSettings
from duecourse.usecases.backfill import Backfills
from duecourse.usecases.callbacks import Callbacks
from duecourse.usecases.commands import Commands
from duecourse.usecases.dead_letters import DeadLetters
from duecourse.usecases.edit_jobs import EditJobs
from duecourse.usecases.explain import Explain
from duecourse.usecases.health import Health
from duecourse.usecases.history import History
from duecourse.usecases.job_history import JobHistory
from duecourse.usecases.jobs import Jobs
from duecourse.usecases.limits import Limits
from duecourse.usecases.manual import Manual
from duecourse.usecases.pausing import Pausing
from duecourse.usecases.preview import Preview
from duecourse.usecases.runs import Runs
from duecourse.usecases.skip_next import SkipNext
from duecourse.usecases.stats import Stats


class Api(Protocol):
    """What the routes need; `bootstrap.api` makes one."""

    @property
    def jobs(self) -> Jobs:
        """Create, read, delete."""

    @property
    def editing(self) -> EditJobs:
        """Replace and change."""

    @property
    def pausing(self) -> Pausing:
        """Pause and resume."""

    @property
    def history(self) -> History:
        """The runs of a job."""

    @property
    def job_history(self) -> JobHistory:
        """Who changed a job, and what."""

    @property
    def runs(self) -> Runs:
        """Single runs."""

    @property
    def callbacks(self) -> Callbacks:
        """Heartbeats and ends, by token."""

    @property
    def commands(self) -> Commands:
        """Cancel and redrive."""

    @property
    def dead_letters(self) -> DeadLetters:
        """Dead runs."""

    @property
    def preview(self) -> Preview:
        """What a schedule means."""

    @property
    def explain(self) -> Explain:
        """Why a job ran, or did not."""

    @property
    def stats(self) -> Stats:
        """Figures of a tenant and of the stage."""

    @property
    def health(self) -> Health:
        """Whether the system's clock goes."""

    @property
    def limits(self) -> Limits:
        """How often a tenant may ask."""

    @property
    def manual(self) -> Manual:
        """Run a job now."""

    @property
    def backfills(self) -> Backfills:
        """Run occurrences of the past."""

    @property
    def skip_next(self) -> SkipNext:
        """Skip what comes next."""

    @property
    def settings(self) -> ApiSettings:
        """What the stage allows."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, and what is noted of it: a stable `action` and its `facts` in the log, `counts` as metrics."""

    status: HTTPStatus
    action: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


Route = Callable[[Api, Request, Mapping[str, str]], Answer]


def page_answer(action: str, items: list[Document], next_cursor: str | None, facts: Mapping[str, object]) -> Answer:
    """A page of a list."""
    body = {"items": items, "next_cursor": next_cursor}
    return Answer(HTTPStatus.OK, action, body, facts={**facts, "items": len(items)})
