"""The event bus with the outcomes of runs that jobs publish. Programs receive them through their own rules."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.nag import acknowledge
from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption


class EventBus(Construct):
    """A separate bus, so that only this stage determines who can put events on it and what a rule can match.

    With a key of the account, there is also a `failures` queue for events that could not be processed because the key
    could not be used. Without it, EventBridge drops these events (Amazon EventBridge User Guide, "Using dead-letter
    queues to capture encrypted event errors"). The queue is encrypted with SQS's own key, because the same key would
    fail here as well.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.failures: sqs.Queue | None = None
        if encryption.key is not None:
            self.failures = sqs.Queue(
                self,
                "Failures",
                retention_period=Duration.days(14),
                enforce_ssl=config.refuse_plain_http,
                encryption=sqs.QueueEncryption.SQS_MANAGED,
            )
        self.bus = events.EventBus(
            self,
            "Bus",
            description="Duecourse: outcomes of runs",
            dead_letter_queue=self.failures,
            **encryption.bus,
        )
        if self.failures is not None:
            self.failures.add_to_resource_policy(
                iam.PolicyStatement(
                    sid="EventsOfThisBus",
                    principals=[iam.ServicePrincipal("events.amazonaws.com")],
                    actions=["sqs:SendMessage"],
                    resources=[self.failures.queue_arn],
                    conditions={"ArnEquals": {"aws:SourceArn": self.bus.event_bus_arn}},
                )
            )
            acknowledge(
                self.failures,
                "This queue is the dead-letter queue of the event bus, which the rule does not "
                "recognize. It has no consumer that could fail.",
                "SQS3",
            )

    @property
    def name(self) -> str:
        """The name of the bus in the functions' settings."""
        return self.bus.event_bus_name

    @property
    def arn(self) -> str:
        """The ARN of the bus, for policies."""
        return self.bus.event_bus_arn
