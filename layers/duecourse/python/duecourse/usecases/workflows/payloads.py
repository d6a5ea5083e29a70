"""What the runs of a job send: the job's payload, the one that the request gave, or what members take of each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.template import TemplateError
from duecourse.domain.workflows.ends import End
from duecourse.domain.workflows.graph import read_ref
from duecourse.domain.workflows.results import UpstreamResultError, filled, taken_by
from duecourse.ports import Inputs, JobStore, WorkflowStore
from duecourse.usecases.workflows.messages import name_in


class PayloadGoneError(TemplateError):
    """The payload that was given for the run is not kept any more."""

    code = "payload_gone"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job as a run calls it, and what its templates may name of the run's workflow."""

    job: Job
    taken: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Payloads:
    """Reads what a run's payload is made of."""

    store: WorkflowStore
    jobs: JobStore
    inputs: Inputs

    def prepared(self, job: Job, run: Run) -> Prepared:
        """The job as this run calls it. Raises PayloadGoneError, UpstreamResultError and GraphMissingError: what its
        payload is made of is not there.
        """
        if run.is_member:
            return self._member(job, run)
        if not run.own_payload:
            return Prepared(job)
        given = self.inputs.get(run.tenant, run.job_id, run.suffix)
        if given is None:
            raise PayloadGoneError("the payload that was given for this run is not kept any more")
        return Prepared(replace(job, payload=given.payload))

    def _member(self, job: Job, run: Run) -> Prepared:
        """With what its payload takes of other members, and on the calendar of its workflow's time zone."""
        ref = read_ref(run.workflow or "")
        graph = self.store.graph(run.tenant, ref)
        job = replace(job, schedule=replace(job.schedule, timezone=graph.timezone))
        taken = [each for _, _, each in taken_by(job.payload) if each is not None]
        if not taken:
            return Prepared(job)
        named = {graph.numbers[each.job] for each in taken if each.job in graph.numbers}
        names = [name_in(run, graph.members[number]) for number in sorted(named)]
        records = {record.job_id: record for record in self.store.records(run.tenant, names)} if names else {}
        for member in (graph.members[number] for number in named):
            if member.id not in records and member.given is not None and member.given.end is End.OK:
                raise UpstreamResultError(f"the record of {member.id}.{member.given.run} is not kept any more")
        found = filled(job.payload, records, cache(lambda: self._of_workflow(run, ref.workflow)))
        return Prepared(replace(job, payload=found.payload), found.texts)

    def _of_workflow(self, run: Run, workflow: str) -> object:
        """The payload of the workflow's run: its own, where it was given one."""
        asked = self.inputs.get(run.tenant, workflow, run.suffix) if run.suffix else None
        if asked is not None and asked.own_payload:
            return asked.payload
        job = self.jobs.get(run.tenant, workflow)
        return None if job is None else job.payload
