"""Any entry of another scheduler: it becomes a job that the API accepts, or is listed with a reason, and never ends the
import of the others.
"""

import ast
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape
from botocore.session import get_session
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.bodies.models import Rules
from duecourse.api.bodies.validation import read_job
from duecourse.cli.imports.aws_schedules import Place
from duecourse.cli.imports.celery import read_beat
from duecourse.cli.imports.crontab import read_crontab
from duecourse.cli.imports.entry import Entry, Names, Runner
from duecourse.cli.imports.eventbridge import of_schedules
from duecourse.cli.imports.kubernetes import read_cronjobs
from duecourse.domain.jobs.job import Precision
from duecourse.domain.targets.allowed_targets import every_target
from tests.support.examples import examples
from tests.support.posting import check
from tests.support.tasks import Registered

NOW = 1_795_000_000.0
STAGE = Place("123456789012", "eu-central-1")
HERE = "eu-central-1:123456789012"
RUNNERS = (Runner(queue="duecourse-target-x"), Runner(url="https://example.com/{id}"))

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, 2**64, -(2**64), 1e300, 604_801, 10**400]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["\ud800", "\0", "{{x}}", "x" * 300, "<aws.scheduler.scheduled-time>"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
)


def accepted(entries: Sequence[Entry]) -> None:
    """The API accepts each imported job, and each other entry has a reason."""
    for entry in entries:
        if entry.job is None:
            assert entry.notes
            continue
        target = entry.job["target"]
        actions = (f"{target['service']}:{target['action']}",) if target["type"] == "aws" else ()
        rules = Rules(
            private_targets=False,
            allowed=every_target(actions),
            default_precision=Precision.EXACT,
            tasks=Registered({}),
        )
        read_job(json.loads(json.dumps(entry.job)), "t", rules, check)


ARNS = st.sampled_from(
    [
        f"arn:aws:lambda:{HERE}:function:duecourse-target-x",
        f"arn:aws:sqs:{HERE}:mail",
        f"arn:aws:sqs:{HERE}:mail.fifo",
        f"arn:aws:sns:{HERE}:news",
        f"arn:aws:ecs:{HERE}:cluster/main",
        f"arn:aws:ecs:{HERE}:task-definition/report:7",
        f"arn:aws:events:{HERE}:event-bus/shop",
        f"arn:aws:events:{HERE}:rule/daily",
        f"arn:aws:states:{HERE}:stateMachine:flow",
        f"arn:aws:kinesis:{HERE}:stream/s",
        f"arn:aws:scheduler:{HERE}:schedule/default/x",
        "arn:aws:scheduler:::aws-sdk:ecs:updateService",
        "arn:aws:iam::123456789012:role/scheduler",
    ]
)
KNOWN: dict[str, st.SearchStrategy[Any]] = {
    "ScheduleExpression": st.sampled_from(
        ["rate(1 minutes)", "rate(5 minutes)", "cron(0 2 * * ? *)", "at(2027-03-01T09:00:00)", "rate(7 days)"]
    ),
    "ScheduleExpressionTimezone": st.sampled_from(["UTC", "Europe/Berlin"]),
    "State": st.sampled_from(["ENABLED", "ENABLED", "ENABLED", "DISABLED"]),
    "Mode": st.just("FLEXIBLE"),
    "Input": st.one_of(st.sampled_from(["{}", '{"containerOverrides": [{"name": "app"}]}', "[1, {}]"]), st.text()),
    "LaunchType": st.just("FARGATE"),
    "TaskCount": st.just(1),
    "subnets": st.just("subnet-0123456789abcdef0"),
}


@cache
def shaped(shape: Shape, name: str = "") -> st.SearchStrategy[Any]:
    """Values of a shape of botocore, and sometimes other values."""
    found: st.SearchStrategy[Any]
    if name in KNOWN:
        found = KNOWN[name]
    elif name.endswith("Arn"):
        found = ARNS
    elif isinstance(shape, StructureShape):
        members = {each: shaped(inner, each) for each, inner in shape.members.items()}
        needed = {each for each in members if each in ("Arn", "ScheduleExpression", "Target", *shape.required_members)}
        optional = {each: value for each, value in members.items() if each not in needed}
        found = st.fixed_dictionaries({each: members[each] for each in sorted(needed)}, optional=optional)
    elif isinstance(shape, ListShape):
        found = st.lists(shaped(shape.member, "subnets" if name == "Subnets" else ""), min_size=1, max_size=3)
    elif isinstance(shape, MapShape):
        found = st.dictionaries(st.text(), st.text(), max_size=2)
    elif isinstance(shape, StringShape):
        found = st.sampled_from(shape.enum) if shape.enum else st.text(max_size=300)
    elif shape.type_name == "timestamp":
        found = st.one_of(st.integers(0, 2**33), st.floats(0, 2**33), st.datetimes(), st.datetimes().map(str))
    elif shape.type_name in ("integer", "long"):
        found = st.integers(-5, 10**6)
    else:
        found = st.booleans()
    return st.integers(0, 25).flatmap(lambda drawn: ODD if drawn == 25 else found)


def schedules() -> st.SearchStrategy[Any]:
    return shaped(get_session().get_service_model("scheduler").shape_for("GetScheduleOutput"))


def rules() -> st.SearchStrategy[Any]:
    model = get_session().get_service_model("events")
    rule, target = shaped(model.shape_for("Rule")), shaped(model.shape_for("Target"))
    return st.builds(
        lambda each, targets: {**each, "Targets": targets} if isinstance(each, dict) else each,
        rule,
        st.one_of(st.lists(target, max_size=3), ODD),
    )


GOOD = {
    "Arn": f"arn:aws:scheduler:{HERE}:schedule/default/good",
    "Name": "good",
    "ScheduleExpression": "cron(0 2 * * ? *)",
    "Target": {"Arn": f"arn:aws:sqs:{HERE}:mail"},
}


@given(value=st.one_of(schedules(), rules(), ODD), runner=st.sampled_from([Runner(), *RUNNERS]))
@examples(400)
def test_import_eventbridge_of_any_entry_makes_a_job_that_the_api_accepts_or_gives_a_reason(
    value: Any, runner: Runner
) -> None:
    found = of_schedules([value, GOOD], file="f", runner=runner, names=Names(), now=NOW, stage=STAGE)
    accepted(found)
    assert found[-1].job is not None
    assert found[-1].job["id"].startswith("good")


SNAKE = st.sampled_from(["aws_scheduler_schedule", "aws_cloudwatch_event_rule", "aws_cloudwatch_event_target"])
JSONS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4), ARNS, *KNOWN.values()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "Ref",
                        "Fn::Sub",
                        "Fn::Join",
                        "Fn::GetAtt",
                        "Fn::If",
                        "Target",
                        "Targets",
                        "Arn",
                        "Input",
                        "Name",
                    ),
                    *("target", "arn", "rule", "name", "schedule_expression", "ScheduleExpression", "retry_policy"),
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(kind=SNAKE, values=JSONS, unknown=JSONS, good=st.just(GOOD))
@examples(200)
def test_import_of_any_template_or_plan_lists_every_schedule(kind: str, values: Any, unknown: Any, good: Any) -> None:
    fine: dict[str, Any] = {"arn": GOOD["Arn"], "name": "good", "schedule_expression": "cron(0 2 * * ? *)"}
    fine["target"] = [{"arn": f"arn:aws:sqs:{HERE}:mail"}]
    resources = [
        {"address": f"{kind}.x", "type": kind, "values": values},
        {"address": "aws_scheduler_schedule.good", "type": "aws_scheduler_schedule", "values": fine},
    ]
    plan = {
        "planned_values": {"root_module": {"resources": resources}},
        "resource_changes": [{"address": f"{kind}.x", "change": {"after_unknown": unknown}}],
    }
    template = {
        "Resources": {
            "X": {"Type": "AWS::Events::Rule", "Properties": values},
            "Y": {"Type": "AWS::Scheduler::Schedule", "Properties": values},
            "Good": {"Type": "AWS::Scheduler::Schedule", "Properties": good},
        }
    }
    for document, least in ((plan, 2), (template, 3)):
        found = of_schedules([document], file="f", runner=Runner(), names=Names(), now=NOW, stage=STAGE)
        accepted(found)
        assert len(found) >= least
        assert sum(each.job is not None and each.job["id"].startswith("good") for each in found) >= 1


def source(value: Any) -> str:
    """A Python literal, except that infinity and NaN have none."""
    return repr(value).replace("inf", "1e999").replace("nan", "(1e999 * 0)")


FIELDS = st.one_of(
    ODD.map(source),
    st.sampled_from(
        [
            *(
                "60",
                "crontab()",
                "crontab(0, '22-4')",
                "crontab(hour={1, 2})",
                "timedelta(days=1)",
                "timedelta(days='x')",
            ),
            *("dict(queue='q')", "{'ids': {1, 2}}", "(1, 2)", "[b'x']", "NAME", "f()", "{'expires': 604801}"),
            *(
                "{'expires': 0.5}",
                "{'expires': True}",
                "{'expires': 1e999}",
                "{**X}",
                "{1: 2}",
                "{(1,): 2}",
                "'tasks.x'",
            ),
            *(
                "crontab(minute={'x', 1})",
                "crontab(*A)",
                "crontab.from_string('x')",
                "schedule(run_every=None)",
                "10**9",
            ),
            *("timedelta(weeks=10**9)", "{'a': {'b': ...}}", "1j", "crontab(minute='*/5', hour='mon-tue/0')"),
        ]
    ),
)
BEATS = st.dictionaries(
    st.sampled_from(["task", "schedule", "args", "kwargs", "options", "relative", "x"]), FIELDS, max_size=6
)


@given(given_fields=BEATS, name=st.text(max_size=5), runner=st.sampled_from(RUNNERS), task=st.booleans())
@examples(400)
def test_import_celery_of_any_entry_makes_a_job_that_the_api_accepts_or_gives_a_reason(
    given_fields: dict[str, str], name: str, runner: Runner, task: bool
) -> None:
    fields = ({"task": "'t.x'", "schedule": "60"} if task else {}) | given_fields
    odd = ", ".join(f"{field!r}: {value}" for field, value in fields.items())
    text = f"beat_schedule = {{{name!r}: {{{odd}}}, 'good': {{'task': 't.x', 'schedule': 60}}}}"
    ast.parse(text)
    found = read_beat(text, file="f", runner=runner, names=Names(), zone=None, app=None, now=NOW)
    accepted(found)
    assert found[-1].job is not None


@given(value=ODD, late=ODD, seconds=ODD, runner=st.sampled_from(RUNNERS), cron=st.sampled_from(["@daily", "0 2 * * *"]))
@examples(200)
def test_import_kubernetes_of_any_entry_makes_a_job_that_the_api_accepts_or_gives_a_reason(
    value: Any, late: Any, seconds: Any, runner: Runner, cron: str
) -> None:
    spec = {
        "schedule": cron,
        "startingDeadlineSeconds": late,
        "concurrencyPolicy": value,
        "jobTemplate": {"spec": value},
    }
    odd = {"kind": "CronJob", "metadata": {"name": "x", "namespace": value}, "spec": spec | {"timeZone": seconds}}
    good = {"kind": "CronJob", "metadata": {"name": "good"}, "spec": {"schedule": "@daily"}}
    text = json.dumps({"items": [odd, good]}).replace("Infinity", "1e9").replace("NaN", "0").replace("\\ud800", "")
    found = read_cronjobs(text, file="f", runner=runner, names=Names(), zone="UTC", now=NOW)
    accepted(found)
    assert found[-1].job is not None


@given(line=st.text(max_size=60), command=st.text(max_size=60), runner=st.sampled_from(RUNNERS), system=st.booleans())
@examples(200)
def test_import_crontab_of_any_line_makes_a_job_that_the_api_accepts_or_gives_a_reason(
    line: str, command: str, runner: Runner, system: bool
) -> None:
    text = f"{line}\n0 2 * * * {command}\n0 3 * * * {'root ' if system else ''}good\n"
    found = read_crontab(text, file="f", runner=runner, names=Names(), zone="UTC", system=system, now=NOW)
    accepted(found)
    assert found[-1].job is not None
