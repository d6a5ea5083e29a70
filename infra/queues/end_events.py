"""Rules that send the ends of executions to the queue of callbacks (`completion: end`)."""

from collections.abc import Iterator

from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from duecourse.domain.targets.executions import END_EVENTS, STARTS
from duecourse.domain.targets.targets import ExecutionService
from infra.settings.targets_config import AllowedTargetsConfig

_LISTS = {
    ExecutionService.STATES: "machines",
    ExecutionService.ECS: "clusters",
    ExecutionService.LAMBDA: "functions",
}


def followed_services(allowed: AllowedTargetsConfig) -> Iterator[ExecutionService]:
    """Yield the services whose executions the jobs of a stage can start."""
    for service, names in _LISTS.items():
        if getattr(allowed, names):
            yield service
    for action, (service, _) in STARTS.items():
        if action in allowed.actions:
            yield service


class EndEvents(Construct):
    """One rule of the default event bus for each service whose executions jobs can start. A rule costs nothing. Its
    filter passes the executions of Duecourse only, as far as the events name them.
    """

    def __init__(self, scope: Construct, construct_id: str, *, allowed: AllowedTargetsConfig, queue: sqs.Queue) -> None:
        super().__init__(scope, construct_id)
        # The target would grant EventBridge more than it needs on the key, so the queue is passed by its ARN.
        target = targets.SqsQueue(sqs.Queue.from_queue_arn(self, "Queue", queue.queue_arn))
        rules = [
            events.Rule(
                self,
                service.capitalize(),
                description=f"Duecourse: ends of executions of {service}",
                event_pattern=events.EventPattern(
                    source=[known.source], detail_type=[known.detail_type], detail=dict(known.detail)
                ),
                targets=[target],
            )
            for service in followed_services(allowed)
            for known in [END_EVENTS[service]]
        ]
        if rules:
            queue.add_to_resource_policy(
                iam.PolicyStatement(
                    sid="EndsOfExecutions",
                    principals=[iam.ServicePrincipal("events.amazonaws.com")],
                    actions=["sqs:SendMessage"],
                    resources=[queue.queue_arn],
                    conditions={"ArnEquals": {"aws:SourceArn": [rule.rule_arn for rule in rules]}},
                )
            )
