"""Graphs of workflows and outcomes of their steps in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from duecourse.domain.documents import to_document
from duecourse.domain.ids import RunName
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run
from duecourse.domain.tenants.seats import moved
from duecourse.domain.workflows.graph import PART_STEPS, Graph, StepOutcome, StepOutcomes, WorkflowRef, ends_in, entry
from duecourse.ports import GraphMissingError, WorkflowRead
from duecourse.testing.memory.items import Items
from duecourse.testing.memory.jobs import unchanged

AGAIN = -1
"""A key in the entries of a part. It marks that ends were withdrawn in this run."""


@dataclass(frozen=True)
class MemoryWorkflows:
    """Implementation of ports.WorkflowStore. Graphs are never removed."""

    items: Items

    def graph(self, tenant: str, ref: WorkflowRef) -> Graph:
        try:
            return self.items.graphs[tenant, ref]
        except KeyError:
            raise GraphMissingError(f"graph {ref} of tenant {tenant} no longer exists") from None

    def put_graph(self, tenant: str, workflow: str, graph: Graph, *, expires_at: int | None = None) -> WorkflowRef:
        text = json.dumps(to_document(graph), sort_keys=True)
        ref = WorkflowRef(workflow, sha256(text.encode()).hexdigest()[:24])
        self.items.graphs[tenant, ref] = graph
        return ref

    def expire_graph(self, tenant: str, ref: WorkflowRef, standing: Job | None, *, at: int) -> None:
        """Do nothing: graphs in memory do not expire."""

    def jobs(self, tenant: str, ids: Sequence[str]) -> dict[str, Job]:
        with self.items.lock:
            return {job_id: self.items.jobs[tenant, job_id] for job_id in ids if (tenant, job_id) in self.items.jobs}

    def claim(self, jobs: Sequence[Job], workflow: str, *, at: float) -> list[str]:
        with self.items.lock:
            return [job.id for job in jobs if not self._belongs(job, workflow, at)]

    def free(self, jobs: Sequence[Job], workflow: str, standing: Job | None, *, at: float) -> None:
        with self.items.lock:
            if not jobs:
                return
            absent = (jobs[0].tenant, workflow) not in self.items.jobs
            if absent if standing is None else unchanged(self.items, standing):
                for job in jobs:
                    self._belongs(job, None, at)

    def _belongs(self, job: Job, workflow: str | None, at: float) -> bool:
        if not unchanged(self.items, job):
            return False
        where = job.tenant, job.id
        self.items.jobs[where] = moved(self.items.jobs[where], workflow, at)
        return True

    def record_end(
        self, tenant: str, run: RunName, number: int, end: StepOutcome, *, in_round: int = 0, expires_at: int
    ) -> StepOutcomes:
        with self.items.lock:
            entries = self.items.ends[tenant, run.job_id, run.local, number // PART_STEPS]
            entries[number] = max(entries.get(number, 0), entry(end, in_round))
            return _ends([entries])

    def withdraw(
        self, tenant: str, run: RunName, rounds: Mapping[int, int], parts: Iterable[int], *, expires_at: int
    ) -> None:
        with self.items.lock:
            for part in {*parts} | {number // PART_STEPS for number in rounds}:
                self.items.ends[tenant, run.job_id, run.local, part][AGAIN] = 1
            for number in rounds:
                entries = self.items.ends[tenant, run.job_id, run.local, number // PART_STEPS]
                entries[number] = max(entries.get(number, 0), entry(None, rounds[number]))

    def read(self, tenant: str, run: RunName, parts: Iterable[int], *, with_run: bool = True) -> WorkflowRead:
        with self.items.lock:
            ends = _ends([self.items.ends[tenant, run.job_id, run.local, part] for part in parts])
            return WorkflowRead(self.items.run(tenant, run.job_id, run.local) if with_run else None, ends)

    def redriven(self, tenant: str, runs: Sequence[RunName]) -> list[RunName]:
        return [run for run in runs if self.read(tenant, run, [0], with_run=False).ends.again]

    def records(self, tenant: str, runs: Sequence[RunName]) -> list[Run]:
        with self.items.lock:
            found = (self.items.run(tenant, run.job_id, run.local) for run in runs)
            return [run for run in found if run is not None]


def _ends(parts: Sequence[Mapping[int, int]]) -> StepOutcomes:
    entries = {number: each for part in parts for number, each in part.items() if number != AGAIN}
    return ends_in(entries, again=any(AGAIN in part for part in parts))
