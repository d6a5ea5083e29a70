"""The stage's alarms in CloudWatch."""

from __future__ import annotations

import logging
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.aws.remembered import Remembered
from duecourse.checks.alarms import alarms_of
from duecourse.checks.facts import Alarms
from duecourse.limits import METRICS_NAMESPACE
from duecourse.ports import Clock, CloudWatchUnavailableError

_logger = logging.getLogger(__name__)

FRESH_SECONDS = 15
"""For how long an answer, or that there was none, is used again. An account may ask nine times a second (Amazon
CloudWatch User Guide, "CloudWatch service quotas"), and an alarm is judged once a minute.
"""


class CloudWatchAlarms:
    """ports.StageAlarms: those in the stage's folder of names, `Duecourse/prod/ticks-missing`."""

    def __init__(self, client: Any, stage: str, clock: Clock) -> None:
        self._client = client
        self._prefix = f"{METRICS_NAMESPACE.format(stage=stage)}/"
        self._known: Remembered[Alarms] = Remembered(clock, FRESH_SECONDS)

    def alarms(self) -> Alarms:
        return self._known.get(self._read)

    def _read(self, _now: float) -> Alarms | CloudWatchUnavailableError:
        found: list[dict[str, Any]] = []
        more: dict[str, str] = {}
        try:
            while True:
                page = self._client.describe_alarms(AlarmNamePrefix=self._prefix, MaxRecords=100, **more)
                found += page.get("MetricAlarms", ())
                if not page.get("NextToken"):
                    return alarms_of(found, self._prefix)
                more = {"NextToken": page["NextToken"]}
        except (ClientError, BotoCoreError) as problem:
            _logger.warning("alarms_not_read", extra={"action": "alarms_not_read", "error": str(problem)})
            return CloudWatchUnavailableError(str(problem))
