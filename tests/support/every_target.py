"""One target of each kind, with every field set."""

from __future__ import annotations

from duecourse.domain.targets.targets import (
    AwsTarget,
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    LambdaMode,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    TaskTarget,
)

EVERY_TARGET: tuple[Target, ...] = (
    HttpTarget("https://example.com/r", "PUT", (("X-B", "2"), ("X-A", "{{secret:key}}")), ("2xx", "404"), "hook"),
    LambdaTarget("duecourse-target-mail", LambdaMode.ASYNC),
    SqsTarget("duecourse-target-mail.fifo", "{{job_id}}"),
    SnsTarget("duecourse-target-news.fifo", "Report of {{date}}", "{{tenant}}"),
    EventBridgeTarget("duecourse-target-bus", "billing", "Invoice Due"),
    StepFunctionsTarget("duecourse-target-flow"),
    EcsTarget(
        "duecourse-target-cluster",
        "duecourse-target-report:7",
        "main",
        ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1"),
        ("sg-0123456789abcdef0",),
        public_ip=True,
    ),
    AwsTarget("ecs", "UpdateService", {"service": "web", "desired": [1, {"day": "{{date}}"}]}, "duecourse-target-role"),
    TaskTarget("send-invoice"),
)
