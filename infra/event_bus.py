"""The event bus: outcomes of runs, as their jobs choose, for programs that hook on by rules of their own."""

from aws_cdk import aws_events as events
from constructs import Construct

from infra.encryption import Encryption


class EventBus(Construct):
    """A bus of our own: who may put events on it, and what a rule on it can match, is ours alone."""

    def __init__(self, scope: Construct, construct_id: str, *, encryption: Encryption) -> None:
        super().__init__(scope, construct_id)
        self.bus = events.EventBus(self, "Bus", description="Duecourse: outcomes of runs", **encryption.bus)

    @property
    def name(self) -> str:
        """What the functions call it by."""
        return self.bus.event_bus_name

    @property
    def arn(self) -> str:
        """The bus, for policies."""
        return self.bus.event_bus_arn
