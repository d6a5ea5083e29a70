"""Starts the runs that follow the run of another job (`then`). Their names are derived from that run, so a repetition
starts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.rendering import literal_payload
from duecourse.domain.runs.states import Run, Succeeded
from duecourse.domain.runs.successors import (
    MAX_CHAIN,
    MAX_FOLLOWING,
    author_of,
    chain_after,
    payload_after,
    successors_of,
)
from duecourse.ports import Results
from duecourse.usecases.report import Report
from duecourse.usecases.runs.requests import OwnPayload, Requests, RunRequest

MAX_RESULT_BYTES = 180 * 1024
"""The largest result that a payload contains, over all runs that one run starts: each has its own copy in the table, at
a write unit per KB. A request is stored as one item.
"""


@dataclass(frozen=True, slots=True)
class Successors(Requests):
    """Starts runs after others."""

    results: Results

    def start(self, run: Run, job: Job, report: Report) -> None:
        """Start the runs that follow an ended run of the job. Raises if one could not be started; a repeated call
        starts only those that were not.
        """
        names = successors_of(run, job)
        if not names:
            return
        if (chain := chain_after(run, len(names))) is None:
            reason = f"{MAX_CHAIN} runs have followed one another, or {MAX_FOLLOWING} have followed one run"
            self._refused(run, names, reason, report)
            return
        payload = payload_after(run, self._result(run, MAX_RESULT_BYTES // len(names)))
        found = {name: self.parts.jobs.get(run.tenant, name) for name in names}
        for name, following in found.items():
            if following is None:
                self._refused(run, [name], f"there is no job {name}", report)
                continue
            request = RunRequest(author_of(run, chain), f"after {run.run_id} {run.attempt}", run.correlation_id)
            given = OwnPayload(literal_payload(following, payload))
            started = self.once(request, following, given, deadlines=following.deadlines)
            report.add("successor_started", tenant=run.tenant, run_id=run.run_id, started=started.run_id)

    def _result(self, run: Run, most: int) -> object:
        """Return the result of a run; None if it has more than `most` bytes, or is stored elsewhere."""
        if not isinstance(run, Succeeded) or run.result_key is None:
            return run.result if isinstance(run, Succeeded) else None
        if (run.result_bytes or 0) > most or (document := self.results.get(run.result_key)) is None:
            return None
        return orjson.loads(document)

    def _refused(self, run: Run, names: list[str], reason: str, report: Report) -> None:
        report.counts["SuccessorsRefused"] += len(names)
        report.add("successor_refused", alarming=True, tenant=run.tenant, run_id=run.run_id, jobs=names, reason=reason)
