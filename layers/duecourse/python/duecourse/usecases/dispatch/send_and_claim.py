"""Send the messages of a group of cursors, then claim them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain

from duecourse.ports import Claim, Claimed, ClaimResult, Clock, CursorStore, Executor, Lanes, Outgoing, Randomness
from duecourse.usecases.dispatch.claiming import Claiming
from duecourse.usecases.dispatch.enqueue import ALIGNED_SECONDS, outgoing
from duecourse.usecases.dispatch.planning import Planned
from duecourse.usecases.report import Report, in_words
from duecourse.usecases.write_retry import WriteRetry


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """The results of a group's claims. `refused` come with the table's error."""

    won: list[Planned]
    refused: list[tuple[Planned, str]]
    failed: str | None
    """Why one or more claims failed for another reason than their condition."""
    throttled: int
    all_sent: bool

    @property
    def well(self) -> bool:
        """Whether the lanes accepted all messages and the table did not throttle."""
        return self.all_sent and not self.throttled and self.failed is None


@dataclass(frozen=True, slots=True)
class SendAndClaim:
    """`shards` is the shard count for claimed cursors; `executor` makes claims that need reads concurrently."""

    cursors: CursorStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    claiming: Claiming
    executor: Executor
    shards: int
    correlation_id: str | None = None
    """The correlation id of the messages."""

    def __call__(
        self, group: list[Planned], retry: WriteRetry, report: Report, *, aligned: bool = True
    ) -> ClaimOutcome:
        """Send, and claim the cursors whose messages were all accepted. Throttled claims are retried by `patience`,
        since their messages are sent already; nothing new is sent meanwhile. `aligned`: wait for the start of the next
        second before sending, so that messages become visible at the start of their second.
        """
        sent = self._send(group, report, aligned=aligned)
        wanted = self._claims(sent, report)
        claims = retry.write_all(lambda some: self.cursors.claim(some, self.shards), [claim for _, claim in wanted])
        done = _sorted(wanted, claims, all_sent=len(wanted) == len(group))
        counted = [claimed.result for claimed in claims]
        report.counts["ClaimsWon"] += len(done.won)
        report.counts["ClaimsLost"] += counted.count(ClaimResult.LOST)
        report.counts["ClaimsRefused"] += len(done.refused)
        report.counts["ClaimsFailed"] += counted.count(ClaimResult.FAILED) + counted.count(ClaimResult.BUSY)
        report.counts["StatementsThrottled"] += done.throttled
        for (planned, claim), claimed in zip(wanted, claims, strict=True):
            if claimed.result is ClaimResult.WON and planned.plan.missed:
                self.claiming.tell(planned, claim.records, report)
        return done

    def _send(self, group: list[Planned], report: Report, *, aligned: bool) -> list[Planned]:
        """Send the messages of a group; returns the cursors whose messages were all accepted."""
        now = self._aligned(group) if aligned else self.clock.now()
        nonce, named = self.randomness.nonce, self.correlation_id
        batches = [outgoing(p.cursor, p.plan, now=now, nonce=nonce, correlation_id=named) for p in group]
        flat: list[Outgoing] = list(chain.from_iterable(batches))
        accepted = iter(self.lanes.send(flat) if flat else [])
        sent: list[Planned] = []
        for planned, batch in zip(group, batches, strict=True):
            fine = [next(accepted) for _ in batch]
            report.counts["Enqueued"] += sum(fine)
            if all(fine):
                sent.append(planned)
            else:
                report.counts["SendsRefused"] += fine.count(False)
                whose = {"tenant": planned.cursor.tenant, "job_id": planned.cursor.job_id}
                report.add("send_refused", alarming=True, refused=fine.count(False), **whose)
        return sent

    def _aligned(self, group: Iterable[Planned]) -> float:
        """Wait for the start of the next second if that makes messages visible at the start of theirs; returns the time
        then.
        """
        now = self.clock.now()
        waits = any(planned.plan.firings and planned.plan.firings[-1].due > now for planned in group)
        if waits and now % 1 > ALIGNED_SECONDS:
            self.clock.sleep_until(int(now) + 1)
            return self.clock.now()
        return now

    def _claims(self, sent: list[Planned], report: Report) -> list[tuple[Planned, Claim]]:
        """The claims of these plans. Most only move the cursor; a claim that needs records that cannot be read now is
        left to the next round.
        """
        claims: list[tuple[Planned, Claim]] = []
        others: list[Planned] = []
        for planned in sent:
            if self.claiming.is_plain(planned.plan):
                claims.append((planned, Claim(planned.cursor, planned.plan.cursor)))
            else:
                others.append(planned)
        for planned, claim, part in self.executor.map(lambda one: self._claim(one, report.part()), others):
            report.merge(part)
            if claim is not None:
                claims.append((planned, claim))
        return claims

    def _claim(self, planned: Planned, report: Report) -> tuple[Planned, Claim | None, Report]:
        try:
            return planned, self.claiming.claim(planned), report
        except Exception as problem:  # noqa: BLE001 - no error of one claim may stop the others
            whose = {"tenant": planned.cursor.tenant, "job_id": planned.cursor.job_id}
            report.counts["ClaimsDeferred"] += 1
            report.add("claim_deferred", alarming=True, reason=planned.plan.reason, error=in_words(problem), **whose)
            return planned, None, report


def _sorted(wanted: list[tuple[Planned, Claim]], claims: list[Claimed], *, all_sent: bool) -> ClaimOutcome:
    """The claims by result; lost ones were made by another dispatcher."""
    won: list[Planned] = []
    refused: list[tuple[Planned, str]] = []
    failed: str | None = None
    for (planned, claim), claimed in zip(wanted, claims, strict=True):
        match claimed.result:
            case ClaimResult.WON:
                won.append(Planned(planned.cursor, replace(planned.plan, cursor=claim.moved)))
            case ClaimResult.REFUSED:
                refused.append((planned, claimed.error or "refused"))
            case ClaimResult.FAILED | ClaimResult.BUSY:
                failed = claimed.error or "no reason given"
            case ClaimResult.LOST:
                pass
    return ClaimOutcome(won, refused, failed, sum(claimed.throttled for claimed in claims), all_sent)
