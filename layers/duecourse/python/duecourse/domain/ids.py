"""Names of jobs and runs.

A run's name is a function of its job and its occurrence, so a run exists only once even if it is enqueued several
times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from duecourse.domain.instants import from_basic, to_basic

ID_PATTERN = r"[A-Za-z0-9_-]{1,64}"
"""The pattern for ids of jobs and tenants. Such ids need no escaping in keys (`#`), run ids (`.`) and paths (`/`)."""

_ID = re.compile(ID_PATTERN)
_RUN = re.compile(rf"(?P<job>{ID_PATTERN})\.(?P<at>[0-9]{{8}}T[0-9]{{6}}Z)(?P<suffix>(\.[mb][A-Za-z0-9_-]{{1,32}})?)")


@dataclass(frozen=True, slots=True)
class RunName:
    """The job and the nominal instant (UTC seconds) of a run. Runs on request and backfill runs have a suffix (`.m…`,
    `.b…`).
    """

    job_id: str
    occurrence: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"{self.job_id}.{self.local}"

    @property
    def local(self) -> str:
        """The name within its job, which is part of the sort key of the run's record. It sorts by occurrence."""
        return to_basic(self.occurrence) + self.suffix


def parse_run_id(text: str) -> RunName:
    """Parse a run id such as `nightly.20261121T064700Z`. Raises ValueError for another form."""
    match = _RUN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a run id; write one such as nightly.20261121T064700Z")
    return RunName(match["job"], from_basic(match["at"]), match["suffix"])


def is_id(text: str) -> bool:
    """Return whether `text` is a valid id of a job or a tenant."""
    return _ID.fullmatch(text) is not None
