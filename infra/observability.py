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
            _counted("dispatch", "Missed"),
            threshold=config.catch_up_alarm_size,
        )
        self._alarm(
            "CursorsSetAside",
            "A job's cursor could not be read or planned and was taken out of the index: the job does not fire. Its "
            "error is shown on the job and in the log (action cursor_set_aside).",
            _counted("dispatch", "CursorsSetAside"),
        )
        self._alarm(
            "DispatchRoundsFailed",
            "A dispatch round ended with an error; the next tick repeats it. See the log (action round_failed).",
            _counted("dispatch", "RoundsFailed"),
        )
        self._alarm(
            "AfterClaimsFailed",
            "What follows from a claim failed and is not repeated: records of skipped occurrences may be missing, or a "
            "job's completion. See the log (action after_claim_failed).",
            _counted("dispatch", "AfterClaimsFailed"),
        )
        self._alarm(
            "RescueReadsFailed",
            "A worker near a message's receive limit could not read its run and sent the message afresh unseen: is "
            "the table of runs throttled or refused? See the log (action rescue_read_failed).",
            _counted("execute", "RescueReadsFailed"),
        )
        self._alarm(
            "EventsRefused",
            "The event bus did not accept outcomes of runs: those who hook on missed them. The runs are not affected. "
            "See the log (action event_refused).",
            _counted("execute", "EventsRefused"),
        )
        self._alarm(
            "ResultsLost",
            "The bucket of results did not accept a large result: its run has succeeded, but only the beginning of the "
            "result is kept, in the record. See the log (action result_lost).",
            _counted("execute", "ResultsLost"),
        )
        self._alarm(
            "PausesFailed",
            "Whether a job whose runs die in a row is to be paused could not be decided: it goes on firing. See the "
            "log (action job_not_paused).",
            _counted("execute", "PausesFailed"),
        )
        self._alarm(
            "DeadLettersRecorded",
            "The dead-letter queue held messages whose runs were not dead: workers were killed, or throttled, at a "
            "message's last delivery. The runs are recorded as dead now; look at the lanes' workers.",
            _counted("sweep", "DeadLettersRecorded"),
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


def _counted(function: str, name: str) -> cloudwatch.Metric:
    """What a function, in all its lanes, counted in five minutes (duecourse.telemetry names the dimensions)."""
    return cloudwatch.Metric(
        namespace="Duecourse",
        metric_name=name,
        dimensions_map={"service": "duecourse", "function": function},
        statistic="Sum",
        period=Duration.minutes(5),
    )
