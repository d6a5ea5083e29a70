"""Alarms by symptom, each with a severity, and two dashboards: one on jobs for their owners, and one on the internals
for operators.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Aws
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.observability.alarms import make_alarms
from infra.observability.business import business_rows
from infra.observability.pages import pages
from infra.observability.technical import technical_rows
from infra.observability.tickets import tickets
from infra.parts import Monitored
from infra.queues.notices import NoticeTopics
from infra.settings.config import StageConfig


def make_dashboards(
    scope: Construct, config: StageConfig, watched: Monitored, alarms: Sequence[cloudwatch.IAlarm]
) -> None:
    """Create both dashboards. Their names contain stage and region, because a name must be unique across all regions of
    an account. They show the states of `alarms`.
    """
    for name, rows in (
        ("Business", business_rows(config, watched)),
        ("Technical", technical_rows(config, watched, alarms)),
    ):
        cloudwatch.Dashboard(
            scope,
            name,
            dashboard_name=f"Duecourse-{config.stage}-{Aws.REGION}-{name.lower()}",
            period_override=cloudwatch.PeriodOverride.INHERIT,
            widgets=[list(row) for row in rows],
        )


class Observability(Construct):
    """The alarms and the dashboards. Alarms cover symptoms that users notice and errors without another signal;
    dashboards show the causes.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, config: StageConfig, watched: Monitored, notices: NoticeTopics
    ) -> None:
        super().__init__(scope, construct_id)
        specs = (*pages(config, watched), *tickets(config, watched))
        alarms = [alarm for spec in specs for alarm in make_alarms(self, config, spec, notices)]
        if config.alarms.dashboards:
            make_dashboards(self, config, watched, alarms)
