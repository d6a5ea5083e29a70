"""The event bus: outcomes of runs, as their jobs choose, for programs that hook on by rules of their own."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.nag import acknowledge
from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption


class EventBus(Construct):
    """A bus of our own: who may put events on it, and what a rule on it can match, is ours alone.

    Under a key of the account's there is a queue beside it, `failures`, for events that could not be worked on because
    the key could not be used; EventBridge drops them otherwise (Amazon EventBridge User Guide, "Using dead-letter
    queues to capture encrypted event errors"). It lies under SQS's own key: the same one would fail it, too.
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
        """What the functions call it by."""
        return self.bus.event_bus_name

    @property
    def arn(self) -> str:
        """The bus, for policies."""
        return self.bus.event_bus_arn
