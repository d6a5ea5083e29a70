"""What operators are told of, and what they look at: alarms by symptom, each with a severity, and dashboards."""

from constructs import Construct

from infra.observability.alarms import make_alarms
from infra.observability.dashboards import make_dashboards
from infra.observability.pages import pages
from infra.observability.tickets import tickets
from infra.observability.watched import Watched
from infra.queues.notices import NoticeTopics
from infra.settings.config import StageConfig

__all__ = ["Observability", "Watched"]


class Observability(Construct):
    """The alarms are of what users feel, and of what nothing else shows; causes are on the dashboards."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: StageConfig, watched: Watched, notices: NoticeTopics
    ) -> None:
        super().__init__(scope, construct_id)
        specs = (*pages(config, watched), *tickets(config, watched))
        alarms = [alarm for spec in specs for alarm in make_alarms(self, config, spec, notices)]
        if config.alarms.dashboards:
            make_dashboards(self, config, watched, alarms)
