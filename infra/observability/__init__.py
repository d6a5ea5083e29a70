"""What wakes an operator, and what an operator looks at: alarms to SNS and dashboards."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from infra.config import StageConfig
from infra.notices import Notices
from infra.observability.alarm_list import Watched, alarm_list
from infra.observability.alarms import make_alarm, make_composite
from infra.observability.dashboards import make_dashboards

__all__ = ["Observability", "Watched"]


class Observability(Construct):
    """Every alarm tells the topic of alarms, but for most members of the composite alarm: where a stage has that one,
    it tells in their place, so that one outage wakes nobody six times. It tells only when the first of them goes off,
    so what may stay in ALARM for hours (one shard, one lane) is no member, and the missing tick tells by itself, too.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, config: StageConfig, watched: Watched, notices: Notices
    ) -> None:
        super().__init__(scope, construct_id)
        action = actions.SnsAction(notices.alarms)
        alarms: list[cloudwatch.Alarm] = []
        members: list[cloudwatch.Alarm] = []
        for spec in alarm_list(config, watched):
            within = spec.stops_firing and config.alarms.composite
            alarm = make_alarm(self, spec, None if within and not spec.tells_itself else action)
            alarms.append(alarm)
            if within:
                members.append(alarm)
        if members:
            make_composite(self, members, action)
        if config.alarms.dashboards:
            make_dashboards(self, config, watched, alarms)
