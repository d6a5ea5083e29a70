"""From a posted workflow to its draft, or to everything that is wrong with it by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from duecourse.api.bodies.definition_body import OF_SCHEDULES
from duecourse.api.bodies.jsontext import unfit
from duecourse.api.bodies.models import Rules
from duecourse.api.bodies.payload_rules import payload_faults
from duecourse.api.bodies.schedule_rules import CheckSchedule, schedule_faults
from duecourse.api.bodies.validation import faults_in, read_job
from duecourse.api.bodies.workflow_body import MemberBody, WorkflowBody
from duecourse.api.problems.problems import FieldFault, Problem, invalid, pointer
from duecourse.domain.ids import is_id
from duecourse.domain.jobs.job_document import definition_fields
from duecourse.domain.jobs.policies import Overlap
from duecourse.domain.workflows.definition import workflow_fields
from duecourse.domain.workflows.graph import Member, Rule
from duecourse.usecases.jobs.draft import Draft
from duecourse.usecases.workflows.workflow_draft import WorkflowDraft

_OF_THE_WORKFLOW = ("schedule", "timezone", *OF_SCHEDULES)
_TARGET = {"type": "workflow", "graph": ""}


def read_workflow(
    value: Any, workflow_id: str, tenant: str, rules: Rules, check_schedule: CheckSchedule
) -> WorkflowDraft:
    """The draft of a posted value. Raises Problem (422) with all its faults, those of its jobs among them."""
    faults = {fault.pointer: fault for fault in unfit(value)}
    body: WorkflowBody | None = None
    try:
        body = WorkflowBody.model_validate(value, context=rules)
    except ValidationError as error:
        for fault in faults_in(error, WorkflowBody):
            faults.setdefault(fault.pointer, fault)
    inline: dict[str, Draft] = {}
    if isinstance(value, dict):
        of_payload = payload_faults({"payload": value.get("payload"), "target": _TARGET}, faults)
        for fault in (*schedule_faults(value, faults, check_schedule), *of_payload):
            faults.setdefault(fault.pointer, fault)
        zone = value.get("timezone", "UTC") if "/timezone" not in faults else "UTC"
        for name, job in _defined(value):
            try:
                inline[name] = _read_inline(job, name, zone, tenant, rules)
            except Problem as problem:
                for fault in problem.faults:
                    place = pointer(["jobs", name, "job"]) + (fault.pointer or "")
                    faults.setdefault(place, FieldFault(fault.detail, place))
    if faults or body is None:
        raise invalid(sorted(faults.values(), key=lambda fault: fault.pointer or ""), "invalid-workflow")
    return _draft(body, workflow_id, tenant, rules, inline)


def _defined(value: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The jobs that are defined in the document, as far as they are objects."""
    jobs = value.get("jobs")
    for name, member in jobs.items() if isinstance(jobs, dict) else ():
        if is_id(name) and isinstance(member, dict) and isinstance(member.get("job"), dict):
            yield name, member["job"]


def _read_inline(job: Mapping[str, Any], name: str, zone: str, tenant: str, rules: Rules) -> Draft:
    """The draft of a job of the document, which has no schedule of its own. Raises Problem."""
    foreign = [FieldFault("is given by the name under jobs; leave it out", "/id")] if "id" in job else []
    foreign += [
        FieldFault("belongs to the workflow, which says when its jobs run; leave it out", f"/{field}")
        for field in _OF_THE_WORKFLOW
        if field in job
    ]
    own = {field: each for field, each in job.items() if field not in ("id", *_OF_THE_WORKFLOW)}
    given = {"overlap": Overlap.ALLOW.value} | own | {"id": name, "schedule": None, "timezone": zone}
    try:
        draft = read_job(given, tenant, rules, lambda *_: None)
    except Problem as problem:
        raise invalid([*foreign, *problem.faults]) from None
    if foreign:
        raise invalid(foreign)
    return draft


def _draft(
    body: WorkflowBody, workflow_id: str, tenant: str, rules: Rules, inline: Mapping[str, Draft]
) -> WorkflowDraft:
    document = body.model_dump(exclude={"payload", "jobs"}) | {"payload": body.payload, "completion_seconds": None}
    fields = definition_fields(document | {"target": _TARGET, "precision": rules.default_precision})

    def definition(graph: str) -> Draft:
        return Draft(tenant=tenant, id=workflow_id, **fields | workflow_fields(graph, body.deadline_seconds))

    members = tuple(_member(name, each) for name, each in body.jobs.items())
    return WorkflowDraft(members, definition, inline)


def _member(name: str, body: MemberBody) -> Member:
    return Member(
        id=name,
        after=tuple(body.after),
        when=Rule(body.when),
        may_fail=body.may_fail,
        not_before=body.not_before,
        only=body.only,
    )
