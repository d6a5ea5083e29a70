"""Jobs and runs like those of a team, for screenshots and for developers of the page."""

from datetime import timedelta

from duecourse.client.bodies import HttpTarget, JobRequest
from duecourse.testing import Scheduler

HTTP: HttpTarget = {"type": "http", "url": "https://shop.example/hooks"}


def fill(scheduler: Scheduler, days: float = 7) -> None:
    """Make the sample jobs and let `days` pass."""
    client = scheduler.client
    began = scheduler.now
    newsletter = began + timedelta(days=days, hours=3)
    jobs: list[JobRequest] = [
        {
            "id": "nightly-report",
            "schedule": "0 2 * * *",
            "target": HTTP,
            "timezone": "Europe/Berlin",
            "owner": "finance",
        },
        {"id": "hourly-sync", "schedule": "5 * * * *", "target": HTTP, "tags": ["crm"], "owner": "sales"},
        {"id": "invoices", "schedule": "30 8 * * MON-FRI", "target": HTTP, "timezone": "America/New_York"},
        {"id": "cleanup", "schedule": "rate(6 hours)", "target": HTTP, "priority": "low", "jitter_seconds": 30},
        {
            "id": "flaky-import",
            "schedule": "*/30 * * * *",
            "target": HTTP,
            "retry": {"max_attempts": 3},
            "tags": ["crm"],
        },
        {"id": "broken-export", "schedule": "15 */4 * * *", "target": HTTP, "retry": {"max_attempts": 2}},
        {"id": "paused-mailing", "schedule": "0 9 * * MON", "target": HTTP, "tags": ["mail"], "owner": "marketing"},
        {"id": "send-newsletter", "schedule": f"at({newsletter:%Y-%m-%dT%H:%M:%S})", "target": HTTP},
    ]
    for job in jobs:
        client.create_job(job)
    client.put_workflow(
        "month-end",
        {
            "schedule": "0 6 * * *",
            "jobs": {
                "extract": {"job_id": "extract", "job": {"target": HTTP}},
                "orders": {"job_id": "orders", "job": {"target": HTTP}, "after": ["extract"]},
                "refunds": {
                    "job_id": "refunds",
                    "job": {"target": HTTP, "retry": {"max_attempts": 1}},
                    "after": ["extract"],
                },
                "book": {"job_id": "book", "job": {"target": HTTP}, "after": ["orders", "refunds"]},
            },
        },
    )
    scheduler.answer("refunds", status=422, body={"error": "no such account: 4711"}, times=1)
    scheduler.answer("broken-export", status=500, body={"error": "no space left on device"})
    scheduler.answer("flaky-import", status=503, body={"error": "busy"}, times=2)
    scheduler.advance_to(began + timedelta(days=days / 2))
    client.pause_job("paused-mailing", note="The template is being rewritten")
    scheduler.answer("flaky-import", status=503, body={"error": "busy"}, times=5)
    scheduler.advance_to(began + timedelta(days=days))
