"""What an alarm of ours is, and how it is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

RUNBOOKS = "docs/runbooks.md"

COMPOSITE = "JobsAreNotFiring"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSpec:
    """One alarm: what it watches, what it means and what to do first."""

    name: str
    """The construct's id, by which the runbook's section is called, too."""
    means: str
    first: str
    metric: cloudwatch.IMetric
    above: float
    """It goes off above this; see `below`."""
    below: bool = False
    """It goes off below `above` instead, and when nothing is told at all."""
    periods: int = 1
    of: int | None = None
    """So many periods of the last `of` must be wrong; the last `periods` in a row unless given."""
    stops_firing: bool = False
    """A member of the composite alarm, which tells in its place."""
    tells_itself: bool = False
    """A member that tells, too: while another member has the composite in ALARM, that one says nothing new."""
    section: str | None = None
    """The runbook's section where several alarms share one."""

    @property
    def runbook(self) -> str:
        """Where the steps are."""
        return f"{RUNBOOKS}#{(self.section or self.name).lower()}"


def make_alarm(scope: Construct, spec: AlarmSpec, action: cloudwatch.IAlarmAction | None) -> cloudwatch.Alarm:
    """The alarm; one without an action is told by the composite alarm."""
    teller = "" if action is not None else f" Told by {COMPOSITE}, not by itself."
    comparison = cloudwatch.ComparisonOperator
    missing = cloudwatch.TreatMissingData
    alarm = cloudwatch.Alarm(
        scope,
        spec.name,
        alarm_description=f"{spec.means} First: {spec.first} Runbook: {spec.runbook}.{teller}",
        metric=spec.metric,
        threshold=spec.above,
        comparison_operator=comparison.LESS_THAN_THRESHOLD if spec.below else comparison.GREATER_THAN_THRESHOLD,
        evaluation_periods=spec.of or spec.periods,
        datapoints_to_alarm=spec.periods,
        treat_missing_data=missing.BREACHING if spec.below else missing.NOT_BREACHING,
    )
    if action is not None:
        alarm.add_alarm_action(action)
    return alarm


def make_composite(scope: Construct, members: Sequence[cloudwatch.Alarm], action: cloudwatch.IAlarmAction) -> None:
    """The one alarm for everything that keeps jobs from firing: whoever is woken by it is woken once."""
    composite = cloudwatch.CompositeAlarm(
        scope,
        COMPOSITE,
        alarm_description=(
            "Jobs do not fire, or soon will not: no tick, rounds of dispatch that fail or do not begin, or lanes that "
            "do not take messages. First: see which of its members is in ALARM, "
            f"and go on with that one's runbook. Runbook: {RUNBOOKS}#{COMPOSITE.lower()}."
        ),
        alarm_rule=cloudwatch.AlarmRule.any_of(
            *(cloudwatch.AlarmRule.from_alarm(member, cloudwatch.AlarmState.ALARM) for member in members)
        ),
    )
    composite.add_alarm_action(action)
    composite.add_ok_action(action)
