"""The SNS topics. `deaths` reports runs without attempts left; the others report alarms that need an operator."""

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption


class NoticeTopics(Construct):
    """The topics for subscriptions. `pages` and `tickets` have the alarms of one severity each. `alarm_email` is
    subscribed to both.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.deaths = sns.Topic(self, "Deaths", enforce_ssl=config.refuse_plain_http, **encryption.topic)
        # Without the stage's key: an alarm must report that the key is disabled. Alarms contain no data of users.
        self.pages, self.tickets = (
            sns.Topic(self, name, enforce_ssl=config.refuse_plain_http) for name in ("Pages", "Tickets")
        )
        for topic in (self.pages, self.tickets):
            if config.alarm_email:
                topic.add_subscription(subscriptions.EmailSubscription(config.alarm_email))
            # A custom topic policy (enforce_ssl) replaces the default one, which lets the account's alarms publish.
            topic.add_to_resource_policy(
                iam.PolicyStatement(
                    sid="AlarmsOfThisAccount",
                    principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                    actions=["sns:Publish"],
                    resources=[topic.topic_arn],
                    conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
                )
            )

    def action(self, severity: str) -> actions.SnsAction:
        """Return the action of an alarm with the severity `page` or `ticket`."""
        return actions.SnsAction(self.pages if severity == "page" else self.tickets)
