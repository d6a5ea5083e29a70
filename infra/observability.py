"""The alarms. Plain metrics only: the local emulator cannot deploy alarms on metric math."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from infra.dead_letters import DeadLetters
from infra.notices import Notices


class Observability(Construct):
    """What wakes an operator."""

    def __init__(self, scope: Construct, construct_id: str, *, dead_letters: DeadLetters, notices: Notices) -> None:
        super().__init__(scope, construct_id)
        waiting = cloudwatch.Alarm(
            self,
            "DeadLettersWaiting",
            alarm_description="Runs used up their attempts; look at them and redrive or purge the dead-letter queue.",
            metric=dead_letters.queue.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            threshold=0,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        waiting.add_alarm_action(actions.SnsAction(notices.alarms))
