"""The two SNS topics: `deaths` tells of runs that used up their attempts, `alarms` of what operators must look at."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.config import StageConfig
from infra.encryption import Encryption


class Notices(Construct):
    """Where people and programs subscribe."""

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.deaths = sns.Topic(self, "Deaths", enforce_ssl=config.refuse_plain_http, **encryption.topic)
        self.alarms = sns.Topic(self, "Alarms", enforce_ssl=config.refuse_plain_http, **encryption.topic)
        if config.alarm_email:
            self.alarms.add_subscription(subscriptions.EmailSubscription(config.alarm_email))

        # A topic policy of one's own (enforce_ssl) replaces the default one that lets the account's alarms publish.
        stack = Stack.of(self)
        self.alarms.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfThisAccount",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.alarms.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
            )
        )
