"""The environment of a worker of the `normal` lane that uses the wire."""

from __future__ import annotations

from benchmarks.wire.client import FAKE_ACCOUNT

QUEUE = "http://127.0.0.1/000000000000/normal"
ENVIRONMENT = {
    "DUECOURSE_STAGE": "bench",
    "DUECOURSE_LANE": "normal",
    "DUECOURSE_JOBS_TABLE": "jobs",
    "DUECOURSE_RUNS_TABLE": "runs",
    "DUECOURSE_SHARDS": "16",
    "DUECOURSE_LOOKAHEAD_SECONDS": "300",
    "DUECOURSE_HORIZON_SECONDS": "840",
    "DUECOURSE_FAILED_SHARE": "0.1",
    "DUECOURSE_REQUESTS_PER_SECOND": "20",
    "DUECOURSE_BURST": "100",
    "DUECOURSE_RUN_INDEX_PARTITIONS": "8",
    "DUECOURSE_LIST_SUCCESSES": "true",
    "DUECOURSE_RUN_RETENTION_DAYS": "90",
    "DUECOURSE_QUEUE_URL": QUEUE,
    "DUECOURSE_BULK_URL": f"{QUEUE}-bulk",
    "DUECOURSE_CALLBACK_URL": f"{QUEUE}-callbacks",
    "DUECOURSE_AUDIT_FUNCTION": "audit",
    **{f"DUECOURSE_{of}_URL_{lane}": QUEUE for of in ("QUEUE", "BULK") for lane in ("HIGH", "NORMAL", "LOW", "LONG")},
    "DUECOURSE_DEATHS_TOPIC_ARN": "arn:aws:sns:us-east-1:000000000000:deaths",
    "DUECOURSE_MAX_RECEIVE_COUNT": "10",
    "DUECOURSE_LATE_SECONDS": "5",
    "DUECOURSE_PRIVATE_TARGETS": "allow",
    "DUECOURSE_BUS_NAME": "bus",
    "DUECOURSE_RESULTS_BUCKET": "results",
    "DUECOURSE_RESULT_BUCKETS": "{}",
    "DUECOURSE_OIDC": "none",
    "DUECOURSE_ACCOUNT": "000000000000",
    "DUECOURSE_PARTITION": "aws",
    "DUECOURSE_REGION": FAKE_ACCOUNT["AWS_REGION"],
    "DUECOURSE_SECRET_STORE": "parameters",
    "DUECOURSE_ALLOWED_TARGETS": '{"functions": ["target-*"]}',
    "POWERTOOLS_SERVICE_NAME": "duecourse",
    "POWERTOOLS_METRICS_NAMESPACE": "Duecourse",
    "POWERTOOLS_LOG_LEVEL": "INFO",
}
