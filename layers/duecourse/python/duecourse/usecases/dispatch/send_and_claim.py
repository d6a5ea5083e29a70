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
    """What became of a group's claims. `refused` come with what the table said of them."""

    won: list[Planned]
    refused: list[tuple[Planned, str]]
    failed: str | None
    """Why one or more failed for another reason than their condition."""
    throttled: int
    all_sent: bool

    @property
    def well(self) -> bool:
        """Whether the lanes took it all, and the table without asking to come back later."""
        return self.all_sent and not self.throttled and self.failed is None


@dataclass(frozen=True, slots=True)
class SendAndClaim:
    """`shards` is where claimed cursors go; `executor` makes claims that need reads side by side."""

    cursors: CursorStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    claiming: Claiming
    executor: Executor
    shards: int
    correlation_id: str | None = None
    """What the messages are to bear."""

    def __call__(
        self, group: list[Planned], retry: WriteRetry, report: Report, *, aligned: bool = True
    ) -> ClaimOutcome:
        """Send, and claim those whose messages were all accepted. Claims that a busy table puts off are made again with
        `patience`: their messages are sent, and nothing new is meanwhile. `aligned`: wait for the start of the next
        second before sending, so that messages are visible on theirs.
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
        """Send the messages of a group; those cursors of which every message was accepted."""
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
        """Wait for the start of the next second where that makes messages visible on theirs; the time then."""
        now = self.clock.now()
        waits = any(planned.plan.firings and planned.plan.firings[-1].due > now for planned in group)
        if waits and now % 1 > ALIGNED_SECONDS:
            self.clock.sleep_until(int(now) + 1)
            return self.clock.now()
        return now

    def _claims(self, sent: list[Planned], report: Report) -> list[tuple[Planned, Claim]]:
        """The claims of these plans. Most move the cursor and nothing else; one that needs what cannot be read now is
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
        except Exception as problem:  # noqa: BLE001 - whatever it is, it must not take the other claims with it
            whose = {"tenant": planned.cursor.tenant, "job_id": planned.cursor.job_id}
            report.counts["ClaimsDeferred"] += 1
            report.add("claim_deferred", alarming=True, reason=planned.plan.reason, error=in_words(problem), **whose)
            return planned, None, report


def _sorted(wanted: list[tuple[Planned, Claim]], claims: list[Claimed], *, all_sent: bool) -> ClaimOutcome:
    """Each by what became of it; the lost ones are somebody else's."""
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
