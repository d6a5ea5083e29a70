"""Jobs and runs as a team has them: what screenshots show, and whoever works on the page looks at."""

from __future__ import annotations

from datetime import timedelta

from duecourse.testing import Scheduler

HTTP = {"type": "http", "url": "https://shop.example/hooks"}


def fill(scheduler: Scheduler, days: float = 7) -> None:
    """Make the sample jobs and let `days` pass."""
    client = scheduler.client
    began = scheduler.now
    jobs = [
        ("nightly-report", "0 2 * * *", {"timezone": "Europe/Berlin", "tags": ["reports"], "owner": "finance"}),
        ("hourly-sync", "5 * * * *", {"tags": ["crm"], "owner": "sales", "jitter_seconds": 30}),
        ("invoices", "30 8 * * MON-FRI", {"timezone": "America/New_York", "tags": ["billing"], "priority": "high"}),
        ("cleanup", "rate(6 hours)", {"priority": "low", "description": "Removes what is older than a month."}),
        ("flaky-import", "*/30 * * * *", {"tags": ["crm"], "retry": {"max_attempts": 3}}),
        ("broken-export", "15 */4 * * *", {"tags": ["billing"], "retry": {"max_attempts": 2}}),
        ("paused-mailing", "0 9 * * MON", {"tags": ["mail"], "owner": "marketing"}),
    ]
    for job_id, schedule, more in jobs:
        client.create_job({"id": job_id, "schedule": schedule, "target": HTTP, **more})
    client.create_job(
        {
            "id": "send-newsletter",
            "schedule": f"at({began + timedelta(days=days, hours=3):%Y-%m-%dT%H:%M:%S})",
            "target": HTTP,
        }
    )
    client.put_workflow(
        "month-end",
        {
            "schedule": "0 6 * * *",
            "jobs": {
                "extract": {"job": {"target": HTTP}},
                "orders": {"job": {"target": HTTP}, "after": ["extract"]},
                "refunds": {"job": {"target": HTTP, "retry": {"max_attempts": 1}}, "after": ["extract"]},
                "book": {"job": {"target": HTTP}, "after": ["orders", "refunds"]},
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
