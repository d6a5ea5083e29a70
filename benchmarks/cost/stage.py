"""The idle month of a stage, from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from benchmarks.cost.idle import Idle, IdleRound
from duecourse.limits import OWN_READS, OWN_WRITES
from infra.settings.auth_config import OPEN_TO_READ
from infra.settings.config import StageConfig


def idle_of(stage: StageConfig, rounds: Mapping[str, IdleRound], alarm_metrics: int, dashboards: int) -> Idle:
    """Return the stage while no job is due. `rounds` has its `round` and its `tick`. `alarm_metrics` and `dashboards`
    are those of its template.
    """
    warm = [each for field in fields(stage.throughput) if (each := getattr(stage.throughput, field.name)) is not None]
    pollers = (each for lane in stage.lanes.values() for each in (lane.pollers, lane.bulk_pollers))
    return Idle(
        shards=stage.shards,
        lanes=len(stage.lanes),
        bulk_queues=len(stage.lanes),
        reconcile_minutes=stage.reconcile_minutes,
        round=rounds["round"],
        tick=rounds["tick"],
        audit_segments=stage.audit_segments,
        repair_hours=stage.repair_hours,
        alarm_metrics=alarm_metrics,
        dashboards=dashboards,
        warm_writes=sum(each.writes - OWN_WRITES for each in warm if each.writes is not None),
        warm_reads=sum(each.reads - OWN_READS for each in warm if each.reads is not None),
        customer_key=stage.encryption_key is not None,
        token_keys=len(stage.oidc_keys),
        open_requests_per_second=stage.api.open_requests_per_second * len(OPEN_TO_READ),
        provisioned_pollers=sum(each.minimum for each in pollers if each is not None),
    )
