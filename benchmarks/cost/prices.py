"""List prices in USD: us-east-1 (Google: any region), on demand, first tier, without free tiers.

Each price has its unit, the page that lists it, and how it was checked on the table's date. `CHECKED`: the page itself,
or two independent sources that quote the price list in 2026, confirm it. `RECALLED`: no such source was available.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duecourse.limits import POLLER_HOUR_DOLLARS, WARM_READ_DOLLARS, WARM_WRITE_DOLLARS

DATE = "2026-11-21"
REGION = "us-east-1"

CHECKED = "checked"
RECALLED = "not verified"


@dataclass(frozen=True, slots=True)
class Price:
    """This many dollars for `per` units, as listed on the page `source`."""

    dollars: float
    per: float
    unit: str
    source: str
    standing: str = CHECKED

    def of(self, amount: float) -> float:
        """Return the cost of this many units in USD."""
        return self.dollars * amount / self.per


MILLION = 1e6
DYNAMODB = "Pricing for On-Demand Capacity (Amazon DynamoDB)"
SQS = "Amazon SQS pricing"
LAMBDA = "AWS Lambda Pricing"
EVENTBRIDGE = "Amazon EventBridge pricing"
CLOUDWATCH = "Amazon CloudWatch Pricing"
STEP_FUNCTIONS = "AWS Step Functions Pricing"
S3 = "Amazon S3 pricing"

PRICES: Mapping[str, Price] = {
    # DynamoDB, Standard table class, after the cut of 2024-11-01
    "wru": Price(0.625, MILLION, "write request units", DYNAMODB),
    "rru": Price(0.125, MILLION, "read request units", DYNAMODB),
    "table_storage": Price(0.25, 1, "GB-month of a table", DYNAMODB),
    "table_backup": Price(0.20, 1, "GB-month of point-in-time recovery", DYNAMODB),
    # once for each unit a second that is added; assumed to be an hour of provisioned capacity
    "warm_writes": Price(WARM_WRITE_DOLLARS, 1, "write units a second of warm throughput, once", DYNAMODB, RECALLED),
    "warm_reads": Price(WARM_READ_DOLLARS, 1, "read units a second of warm throughput, once", DYNAMODB, RECALLED),
    # SQS: one request per started 64 KB
    "sqs_standard": Price(0.40, MILLION, "requests, standard queue", SQS),
    "sqs_fifo": Price(0.50, MILLION, "requests, FIFO queue", SQS),
    "sqs_fair": Price(0.10, MILLION, "messages with a message group, standard queue, in addition", SQS, RECALLED),
    # Lambda, Arm, first tier
    "lambda_request": Price(0.20, MILLION, "invocations", LAMBDA),
    "lambda_gb_second": Price(0.0000133334, 1, "GB-seconds, Arm", LAMBDA),
    "event_poller": Price(POLLER_HOUR_DOLLARS, 1, "hours of a provisioned poller, SQS event source", LAMBDA),
    # EventBridge
    "scheduler": Price(1.00, MILLION, "invocations of EventBridge Scheduler", EVENTBRIDGE),
    "bus_event": Price(1.00, MILLION, "custom events", EVENTBRIDGE),
    "rule_schedule": Price(0.0, MILLION, "invocations of a scheduled rule", EVENTBRIDGE, RECALLED),
    # CloudWatch
    "log_ingestion": Price(0.50, 1, "GB of logs taken in", CLOUDWATCH),
    "log_storage": Price(0.03, 1, "GB-month of logs, compressed", CLOUDWATCH, RECALLED),
    "alarm": Price(0.10, 1, "alarms, standard resolution, a month", CLOUDWATCH),
    "metric": Price(0.30, 1, "custom metrics, a month", CLOUDWATCH),
    "metric_query": Price(0.01, 1_000, "metrics requested by GetMetricData", CLOUDWATCH, RECALLED),
    "dashboard": Price(3.00, 1, "dashboards beyond the account's third, a month", CLOUDWATCH, RECALLED),
    "trace": Price(5.00, MILLION, "traces recorded (the first 100,000 a month are free)", "AWS X-Ray pricing"),
    # Step Functions
    "transition": Price(25.0, MILLION, "state transitions, Standard", STEP_FUNCTIONS),
    "express_request": Price(1.00, MILLION, "executions, Express", STEP_FUNCTIONS),
    "express_gb_second": Price(0.00001667, 1, "GB-seconds, Express, first tier", STEP_FUNCTIONS),
    # used by few jobs, and not at all while idle
    "http_api": Price(1.00, MILLION, "requests, HTTP API", "Amazon API Gateway pricing"),
    "sns_publish": Price(0.50, MILLION, "requests, standard topic", "Amazon SNS pricing", RECALLED),
    "s3_put": Price(0.005, 1_000, "PUT requests", S3),
    "s3_storage": Price(0.023, 1, "GB-month, Standard", S3),
    "kms_key": Price(1.00, 1, "customer keys, a month", "AWS Key Management Service pricing"),
    "kms_request": Price(0.03, 10_000, "requests, symmetric key", "AWS Key Management Service pricing"),
    # Google Cloud: per job, regardless of how often it fires
    "google_job": Price(0.10, 1, "jobs, 31 days", "Google Cloud Scheduler pricing"),
}


def usd(name: str, amount: float) -> float:
    """Return the cost of this many units of a price in USD. Raises KeyError."""
    return PRICES[name].of(amount)


def document() -> dict[str, object]:
    """Return the table as JSON data."""
    rows = {
        name: {
            "dollars": price.dollars,
            "per": price.per,
            "unit": price.unit,
            "source": price.source,
            "standing": price.standing,
        }
        for name, price in PRICES.items()
    }
    return {"date": DATE, "region": REGION, "free_tiers": "not counted", "prices": rows}


def unverified() -> list[str]:
    """Return the prices in the table that were not checked."""
    return [name for name, price in PRICES.items() if price.standing == RECALLED]
