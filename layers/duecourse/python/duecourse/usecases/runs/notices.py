"""Delivers notices: each is a run of the job that the rule names, with the notice as its payload.

The run's name is derived from the notice, so each notice is delivered once, regardless of how often it is requested. A
run provides everything that a delivery needs: a lane with workers, retries, a signature, a record, and the checks of
its target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duecourse.domain.jobs.job import Job, NotifyTarget
from duecourse.domain.runs.notices import (
    AT_ONCE,
    NOTIFIER,
    WINDOW_SECONDS,
    Notice,
    digest_of,
    document_of,
    sample_notice,
)
from duecourse.domain.runs.rendering import literal_payload
from duecourse.domain.runs.states import Run
from duecourse.usecases.jobs.job_errors import KeyReusedError
from duecourse.usecases.report import Report
from duecourse.usecases.runs.requests import (
    LaneUnavailableError,
    OwnPayload,
    Requests,
    RunRequest,
)


@dataclass(frozen=True, slots=True)
class NotifyTest:
    """The runs that deliver test notices, and the ids of the jobs that do not exist."""

    runs: tuple[Run, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobNotices(Requests):
    """Starts the runs that deliver notices."""

    def send(self, notices: Sequence[Notice], report: Report) -> None:
        """Deliver the notices by the rules of their job. A rule that names no job is reported. Raises if a delivery
        could not be requested. A repeated call does not request a delivery twice.
        """
        for notice in notices:
            for to in notice.job.notified_of(notice.cause):
                whose: dict[str, Any] = {"tenant": notice.job.tenant, "job_id": notice.job.id, "cause": notice.cause}
                if (deliverer := self.parts.jobs.get(notice.job.tenant, to.job)) is None:
                    report.counts["NoticesRefused"] += 1
                    report.add("notice_refused", alarming=True, reason=f"there is no job {to.job}", **whose)
                    continue
                run = self._deliver(deliverer, to, notice)
                report.counts["NoticesSent"] += 1
                report.add("notice_sent", delivered_by=run.run_id, **whose)

    def test(self, job: Job, key: str | None) -> NotifyTest:
        """Deliver a test notice to the target of each of the job's rules. With a `key`, a repeated call delivers
        nothing. Raises LaneUnavailableError.
        """
        notice = sample_notice(job, key or self.parts.randomness.nonce(), self.parts.clock.now())
        targets = dict.fromkeys(rule.to for rule in job.notify)
        found = [(to, self.parts.jobs.get(job.tenant, to.job)) for to in targets]
        runs = list[Run]()
        for to, deliverer in found:
            if deliverer is not None:
                key, payload = f"{notice.key}/{to.format}", document_of(notice, to.format)
                try:
                    runs.append(self._run(deliverer, key, [], payload))
                except LaneUnavailableError as error:
                    raise LaneUnavailableError(str(error), [run.run_id for run in runs]) from error
        return NotifyTest(tuple(runs), tuple(to.job for to, each in found if each is None))

    def _deliver(self, deliverer: Job, to: NotifyTarget, notice: Notice) -> Run:
        """Return the run that delivers the notice: alone if its cause is not digested or its window has a free place,
        otherwise in the window's digest. Each job, cause and format has its own windows, because jobs share a
        deliverer.
        """
        if not notice.cause.digested:
            return self._run(deliverer, f"{notice.key}/{to.format}", [notice.key], document_of(notice, to.format))
        window = int(notice.at // WINDOW_SECONDS)
        own = f"{window}/{notice.job.id}/{notice.cause}/{to.format}"
        for place in range(AT_ONCE):
            try:
                return self._run(deliverer, f"{own}/{place}", [notice.key], document_of(notice, to.format))
            except KeyReusedError:
                continue  # another notice has this place
        digest = digest_of(notice, to.format, window * WINDOW_SECONDS)
        return self._run(deliverer, f"{own}/digest", [], digest, due=(window + 1) * WINDOW_SECONDS)

    def _run(self, deliverer: Job, key: str, said: list[str], payload: Any, due: int | None = None) -> Run:
        """Return the run that delivers a payload. Raises KeyReusedError if another notice has the key."""
        given = OwnPayload(literal_payload(deliverer, payload))
        return self.once(RunRequest(NOTIFIER, f"notify {key}"), deliverer, given, ["notice", said], due=due)
