"""Graphs of workflows in the jobs table; graphs of items and outcomes of steps in the runs table."""

from __future__ import annotations

import gzip
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256

import orjson

from duecourse.domain.documents import from_document, to_document
from duecourse.domain.ids import RunName
from duecourse.domain.jobs.job import UNREAD, Job
from duecourse.domain.runs.states import Run
from duecourse.domain.tenants.seats import moved
from duecourse.domain.workflows.graph import PART_STEPS, Graph, StepOutcome, StepOutcomes, WorkflowRef, ends_in, entry
from duecourse.ports import Clock, Executor, GraphMissingError, InlineExecutor, RecordedEnd, WorkflowRead
from duecourse.stores import run_item, values
from duecourse.stores.conditions import no_job, unchanged
from duecourse.stores.job_item import from_item, has_own_payload, is_removed
from duecourse.stores.keys import ENDS, GRAPH_PREFIX, JOB, RUN_PREFIX, Item, ends_key, job_key
from duecourse.stores.table import (
    Absent,
    Check,
    Compare,
    Present,
    Put,
    Returned,
    Set,
    Table,
    Tables,
    Update,
    Written,
    any_of,
    changes_to,
)

REMEMBERED = 64
"""The number of graphs that a worker keeps in memory. A graph of 1,000 steps takes about a megabyte."""

TRANSACTION = 100
"""Maximum number of writes in a transaction (Amazon DynamoDB API Reference, TransactWriteItems)."""

HASH_CHARACTERS = 24
"""24 hexadecimal characters have 96 bits: a collision within one workflow is improbable."""


class WorkflowStore:
    """The graphs of workflows and the outcomes of their steps.

    A graph is the item `JOB#<tenant>#<workflow>/GRAPH#<hash>` (compressed JSON) in the jobs table. The graph of a
    step's items, which may have 340 KB, is in the runs table, because maintenance scans the jobs table. The outcomes of
    steps are the items `ENDS#<tenant>#<workflow>#<instant><suffix>#<part>/ENDS` in the runs table. Such an item has an
    attribute for each step that has ended: the name is the number of the step, the value has the round and rank of its
    end (`domain.workflows.graph.entry`). The `again` attribute is set after an end was withdrawn in this run.
    """

    def __init__(self, tables: Tables, clock: Clock, executor: Executor | None = None) -> None:
        self._tables = tables
        self._clock = clock
        self._executor = executor or InlineExecutor()
        self._remembered = lru_cache(REMEMBERED)(self._read_graph)

    def graph(self, tenant: str, ref: WorkflowRef) -> Graph:
        """Return the graph, which is cached after the first read. Raises GraphMissingError."""
        return self._remembered(tenant, ref._replace(outer=""))

    def _read_graph(self, tenant: str, ref: WorkflowRef) -> Graph:
        table = _table_of(ref)
        item = self._tables.get(table, job_key(tenant, ref.workflow, GRAPH_PREFIX + ref.graph))
        if item is None:
            raise GraphMissingError(f"graph {ref} of tenant {tenant} no longer exists")
        return from_document(Graph, orjson.loads(gzip.decompress(b64decode(values.text(item, "graph")))))

    def ref_of(self, workflow: str, graph: Graph) -> WorkflowRef:
        """Return the reference under which the graph is stored."""
        digest = sha256(_text(graph)).hexdigest()[:HASH_CHARACTERS]
        return WorkflowRef(workflow, digest, of_items=graph.items is not None)

    def put_graph(self, tenant: str, workflow: str, graph: Graph, *, expires_at: int | None = None) -> WorkflowRef:
        """Store a graph and return its reference. Without `expires_at`, the expiry of an existing graph is removed."""
        ref, text = self.ref_of(workflow, graph), _text(graph)
        packed = b64encode(gzip.compress(text, mtime=0)).decode()  # text: the fast JSON encoder does not accept bytes
        item = values.pack({"expires_at": expires_at, "graph": packed})
        key, table = job_key(tenant, workflow, GRAPH_PREFIX + ref.graph), _table_of(ref)
        self._tables.write(Put(table, key | item))
        return ref

    def expire_graph(self, tenant: str, ref: WorkflowRef, standing: Job | None, *, at: int) -> None:
        """Set the expiry of the graph to `at` (UTC seconds). `standing` is the workflow's own job as it was read, or
        None if it did not exist. If the job has changed since then or uses this graph, nothing is written.
        """
        key = job_key(tenant, ref.workflow, GRAPH_PREFIX + ref.graph)
        update = Update(Table.JOBS, key, (Set("expires_at", at),), Present())
        self._tables.transact([update, self._own_job(tenant, ref.workflow, standing)])

    def jobs(self, tenant: str, ids: Sequence[str]) -> dict[str, Job]:
        """Return the existing jobs, by id. A payload stored in a separate item is not read (UNREAD). Strongly
        consistent.
        """
        keys = [job_key(tenant, job_id, JOB) for job_id in ids]
        found: dict[str, Job] = {}
        for item in self._tables.get_many(Table.JOBS, keys, consistent=True):
            if "job_id" not in item or is_removed(item, self._clock.now()):
                continue  # the item only reserves the id, or the job was removed
            job = from_item(item)
            found[job.id] = replace(job, payload=UNREAD) if has_own_payload(item) else job
        return found

    def claim(self, jobs: Sequence[Job], workflow: str, *, at: float) -> list[str]:
        """Make the jobs steps of a workflow. `at` is the current time (UTC seconds). Return the ids of the jobs that
        have changed since they were read; these are not written.
        """
        return self._claimed_by(jobs, workflow, at, [])

    def free(self, jobs: Sequence[Job], workflow: str, standing: Job | None, *, at: float) -> None:
        """Release the steps that have not changed since they were read. `at` is the current time (UTC seconds).
        `standing` is the workflow's own job as it was read (None: there was none); nothing is released if it has
        changed since.
        """
        if not jobs:
            return
        self._claimed_by(jobs, None, at, [self._own_job(jobs[0].tenant, workflow, standing)])

    def _own_job(self, tenant: str, workflow: str, standing: Job | None) -> Check:
        """Return the condition check that the workflow's own job is unchanged since it was read."""
        condition = no_job(self._clock.now()) if standing is None else unchanged(standing)
        return Check(Table.JOBS, job_key(tenant, workflow, JOB), condition)

    def _claimed_by(self, jobs: Sequence[Job], workflow: str | None, at: float, checks: list[Check]) -> list[str]:
        """Claim jobs in transactions of the maximum size, which are sent concurrently. Returns the ids of jobs that
        were not written.
        """
        size = TRANSACTION - len(checks)
        batches = [jobs[begin : begin + size] for begin in range(0, len(jobs), size)]
        refused = self._executor.map(lambda batch: self._claimed(batch, workflow, at, checks), batches)
        return [job_id for batch in refused for job_id in batch]

    def _claimed(self, jobs: Sequence[Job], workflow: str | None, at: float, checks: list[Check]) -> list[str]:
        """Claim jobs in one transaction and return the ids of jobs that have changed. In that case the others are
        written in a second transaction. If a check fails, no job is written and all ids are returned.
        """
        writes = [self._claim_of(job, workflow, at) for job in jobs]
        failed = set(self._tables.transact([*writes, *checks]))
        if any(index >= len(jobs) for index in failed):
            return [job.id for job in jobs]
        rest = [job for index, job in enumerate(jobs) if index not in failed]
        refused = [jobs[index].id for index in failed]
        return [*refused, *self._claimed(rest, workflow, at, checks)] if failed and rest else refused

    def _claim_of(self, job: Job, workflow: str | None, at: float) -> Update:
        after = moved(job, workflow, at)
        fields = ("workflow", "claimed_at", "revision", "seated", "updated_at")
        changed = {name: getattr(after, name) for name in fields if getattr(after, name) != getattr(job, name)}
        return Update(Table.JOBS, job_key(job.tenant, job.id, JOB), changes_to(changed), unchanged(job))

    def record_end(
        self, tenant: str, run: RunName, number: int, end: StepOutcome, *, in_round: int = 0, expires_at: int
    ) -> RecordedEnd:
        """Record the end of a step and return the known outcomes. The call is idempotent, so it can be repeated after a
        lost response.
        """
        part = number // PART_STEPS
        written = self._noted(ends_key(tenant, run, part), number, entry(end, in_round), expires_at)
        found = written.item
        ends = self.read(tenant, run, [part], with_run=False).ends if found is None else _ends([found])
        return RecordedEnd(ends, first=written.held and found is not None)

    def withdraw(
        self, tenant: str, run: RunName, rounds: Mapping[int, int], parts: Iterable[int], *, expires_at: int
    ) -> None:
        """Begin these rounds of steps (by number), so that their earlier outcomes no longer count. `parts` are marked
        first: a read of one of them shows that outcomes were withdrawn (`StepOutcomes.again`).
        """
        own = {number // PART_STEPS for number in rounds}
        list(self._executor.map(lambda part: self._mark(ends_key(tenant, run, part), expires_at), [*{*parts} | own]))

        def withdrawn(number: int) -> None:
            key = ends_key(tenant, run, number // PART_STEPS)
            self._noted(key, number, entry(None, rounds[number]), expires_at)

        list(self._executor.map(withdrawn, list(rounds)))

    def _mark(self, key: Item, expires_at: int) -> None:
        self._tables.write(Update(Table.RUNS, key, (Set("again", True), Set("expires_at", expires_at))))

    def _noted(self, key: Item, number: int, value: int, expires_at: int) -> Written:
        """Write an entry unless the item has this or a higher one. Return the item too, if DynamoDB returned it."""
        name = str(number)
        condition = any_of(Absent(name), Compare(name, "<", value))
        update = Update(Table.RUNS, key, (Set(name, value), Set("expires_at", expires_at)), condition)
        return self._tables.write(update, Returned.AFTER)

    def read(self, tenant: str, run: RunName, parts: Iterable[int], *, with_run: bool = True) -> WorkflowRead:
        """Return a workflow's run and the outcomes of its steps in these parts. Strongly consistent for each item."""
        keys = [ends_key(tenant, run, part) for part in parts]
        if with_run:
            keys.append(job_key(tenant, run.job_id, RUN_PREFIX + run.local))
        items = self._tables.get_many(Table.RUNS, keys, consistent=True)
        record = next((item for item in items if item["SK"]["S"] != ENDS), None)
        ends = _ends([item for item in items if item["SK"]["S"] == ENDS])
        return WorkflowRead(None if record is None else run_item.from_item(record), ends)

    def redriven(self, tenant: str, runs: Sequence[RunName]) -> list[RunName]:
        """Return those of these workflow runs in which outcomes were withdrawn. Strongly consistent."""
        keys = {run: ends_key(tenant, run, 0) for run in runs}  # the first part, since all parts have the mark
        items = self._tables.get_many(Table.RUNS, keys.values(), consistent=True)
        marked = {item["PK"]["S"] for item in items if "again" in item}
        return [run for run, key in keys.items() if key["PK"]["S"] in marked]

    def records(self, tenant: str, runs: Sequence[RunName]) -> list[Run]:
        """Return the existing records of these runs. Strongly consistent."""
        keys = [job_key(tenant, run.job_id, RUN_PREFIX + run.local) for run in runs]
        return [run_item.from_item(item) for item in self._tables.get_many(Table.RUNS, keys, consistent=True)]


def _table_of(ref: WorkflowRef) -> Table:
    return Table.RUNS if ref.of_items else Table.JOBS


def _text(graph: Graph) -> bytes:
    """Return the text of a graph. Later attributes are omitted where they have no value, so that the hash of a graph
    without them is the same as before they existed.
    """
    document = to_document(graph)
    for each in (document, *document["steps"]):
        for name in ("items", "item", "for_each", "shared", "nested"):
            if each.get(name, 0) is None or each.get(name) is False:
                del each[name]
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def _ends(items: Sequence[Item]) -> StepOutcomes:
    entries = {int(name): int(each["N"]) for item in items for name, each in item.items() if name.isdecimal()}
    return ends_in(entries, again=any("again" in item for item in items))
