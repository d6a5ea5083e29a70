"""CloudWatch metrics and alarms for the stage pages of the API."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar

from duecourse.checks import metrics
from duecourse.checks.alarms import alarms_of
from duecourse.checks.facts import Alarms, StageFigures
from duecourse.domain.jobs.job import Lane
from duecourse.limits import METRICS_NAMESPACE
from duecourse.ports import AwsError, Clock, CloudWatchUnavailableError

_logger = logging.getLogger(__name__)

Value = TypeVar("Value")


class TtlCache(Generic[Value]):
    """Caches a response or an error of CloudWatch for some seconds."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._known: tuple[float, Value | CloudWatchUnavailableError] | None = None

    def get(self, read: Callable[[float], Value | CloudWatchUnavailableError]) -> Value:
        """Return the cached response, or call `read` with the current time (UTC seconds). Raises
        CloudWatchUnavailableError.
        """
        now = self._clock.now()
        if self._known is None or not 0 <= now - self._known[0] < self._seconds:
            self._known = now, read(now)
        found = self._known[1]
        if isinstance(found, CloudWatchUnavailableError):
            raise found
        return found


METRICS_FRESH_SECONDS = 60
"""How long a response or an error is reused. Requests cost $0.01 per 1,000 metrics (Amazon CloudWatch pricing,
"GetMetricData"), and no metric gets more than one value a minute.
"""


class CloudWatchMetrics:
    """Implementation of ports.StageMetrics: reads the metrics of the stage and the SQS metrics of its lanes in one
    request.
    """

    def __init__(
        self, client: Any, stage: str, clock: Clock, queue_urls: Mapping[Lane, str], bulk_urls: Mapping[Lane, str]
    ) -> None:
        """The messages of a lane are in its queue (`queue_urls`) and in its bulk queue (`bulk_urls`)."""
        self._client = client
        self._queue_urls = {lane.value: (url, bulk_urls[lane]) for lane, url in queue_urls.items()}
        self._stage = stage
        self._known: TtlCache[StageFigures] = TtlCache(clock, METRICS_FRESH_SECONDS)

    def figures(self, api_id: str = "") -> StageFigures:
        return self._known.get(partial(self._read, api_id))

    def _read(self, api_id: str, now: float) -> StageFigures | CloudWatchUnavailableError:
        urls = [url for each in self._queue_urls.values() for url in each]
        asked = metrics.stage_metrics(self._stage, urls, api_id)
        results: list[dict[str, Any]] = []
        request: dict[str, Any] = {
            "MetricDataQueries": metrics.queries(asked.values()),
            "StartTime": datetime.fromtimestamp(metrics.first_step(now), UTC),
            "EndTime": datetime.fromtimestamp(now, UTC),
        }
        try:
            while True:
                page = self._client.get_metric_data(**request)
                results += page["MetricDataResults"]
                if not page.get("NextToken"):
                    break
                request["NextToken"] = page["NextToken"]
        except AwsError as problem:
            return _not_read(str(problem))
        failed = [each for each in results if each.get("StatusCode") in ("InternalError", "Forbidden")]
        if failed:
            return _not_read(f"{len(failed)} metrics: {failed[0]['StatusCode']}")
        return metrics.figures(metrics.values(asked, results), self._queue_urls, now)


def _not_read(error: str) -> CloudWatchUnavailableError:
    _logger.warning("metrics_not_read", extra={"action": "metrics_not_read", "error": error})
    return CloudWatchUnavailableError(error)


ALARMS_FRESH_SECONDS = 15
"""How long a response or an error is reused. An account may send nine requests a second (Amazon CloudWatch User Guide,
"CloudWatch service quotas"), and an alarm is evaluated once a minute.
"""


class CloudWatchAlarms:
    """Implementation of ports.StageAlarms: the alarms whose names have the prefix of the stage, such as
    `Duecourse/prod/ticks-missing`.
    """

    def __init__(self, client: Any, stage: str, clock: Clock) -> None:
        self._client = client
        self._prefix = f"{METRICS_NAMESPACE.format(stage=stage)}/"
        self._known: TtlCache[Alarms] = TtlCache(clock, ALARMS_FRESH_SECONDS)

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
        except AwsError as problem:
            _logger.warning("alarms_not_read", extra={"action": "alarms_not_read", "error": str(problem)})
            return CloudWatchUnavailableError(str(problem))
