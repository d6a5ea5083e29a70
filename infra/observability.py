"""The alarms. Plain metrics only: the local emulator cannot deploy alarms on metric math."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from infra.config import StageConfig
from infra.dead_letters import DeadLetters
from infra.notices import Notices


class Observability(Construct):
    """What wakes an operator."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: StageConfig, dead_letters: DeadLetters, notices: Notices
    ) -> None:
        super().__init__(scope, construct_id)
        self._action = actions.SnsAction(notices.alarms)
        self._alarm(
            "DeadLettersWaiting",
            "Runs used up their attempts; look at them and redrive or purge the dead-letter queue.",
            dead_letters.queue.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
        )
        self._alarm(
            "CatchUpStorm",
            f"More than {config.catch_up_alarm_size} missed occurrences were caught up within five minutes: find out "
            "what kept the dispatcher from running (tick, shard queue, throttling) and watch the lanes.",
            _dispatched("Missed"),
            threshold=config.catch_up_alarm_size,
        )
        self._alarm(
            "CursorsSetAside",
            "A job's cursor could not be read or planned and was taken out of the index: the job does not fire. Its "
            "error is shown on the job and in the log (action cursor_set_aside).",
            _dispatched("CursorsSetAside"),
        )
        self._alarm(
            "DispatchRoundsFailed",
            "A dispatch round ended with an error; the next tick repeats it. See the log (action round_failed).",
            _dispatched("RoundsFailed"),
        )

    def _alarm(self, name: str, description: str, metric: cloudwatch.IMetric, *, threshold: int = 0) -> None:
        """An alarm above the threshold, told to the topic of alarms."""
        alarm = cloudwatch.Alarm(
            self,
            name,
            alarm_description=description,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(self._action)


def _dispatched(name: str) -> cloudwatch.Metric:
    """What the dispatchers counted in five minutes (duecourse.telemetry names the dimensions)."""
    return cloudwatch.Metric(
        namespace="Duecourse",
        metric_name=name,
        dimensions_map={"service": "duecourse", "function": "dispatch"},
        statistic="Sum",
        period=Duration.minutes(5),
    )
