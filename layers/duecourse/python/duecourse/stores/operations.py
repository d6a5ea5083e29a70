"""Operations in the jobs table: `TENANT#<tenant>/OPERATION#<id>`. `OPERATION#` counts the operations that the tenant
has created, and has the idempotency keys of those that were replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from duecourse.domain.runs.operations import Omission, Operation, OperationState, Position, UsedKeys
from duecourse.domain.runs.states import RunState
from duecourse.ports import AwsError
from duecourse.stores import values
from duecourse.stores.job_item import readable
from duecourse.stores.keys import OPERATION_PREFIX, Item, tenant_key
from duecourse.stores.table import (
    Absent,
    Check,
    Condition,
    Delete,
    Prefix,
    Put,
    Query,
    Returned,
    Set,
    Table,
    Tables,
    Update,
    Write,
    equal,
    holds,
    pages,
)

_FIELDS = (
    *("kind", "created_at", "created_by", "job_id", "tag", "error", "since", "until", "per_minute", "limit"),
    *("expected", "note", "request", "state", "reason", "page", "done", "refused", "searched_to", "updated_at"),
    *("continues_at", "ended_at", "writer"),
)


@dataclass(frozen=True, slots=True)
class AllOperations:
    """All operations of a tenant, and the keys of replaced ones. `version` increases with every operation that is
    created.
    """

    items: Sequence[Operation]
    version: int
    used: UsedKeys = field(default_factory=dict)


class OperationStore:
    """The operations of a tenant."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, tenant: str, operation_id: str) -> Operation | None:
        """Return the operation; None if there is none. Strongly consistent."""
        item = self._tables.get(Table.JOBS, _key(tenant, operation_id))
        return None if item is None else _operation(tenant, item)

    def all(self, tenant: str) -> AllOperations:
        """Return all operations of the tenant, in no particular order. Operations that cannot be read are logged and
        left out. Strongly consistent.
        """
        partition = tenant_key(tenant, "")["PK"]["S"]
        query = Query(Table.JOBS, partition, Prefix("SK", OPERATION_PREFIX), consistent=True)
        items = list(pages(self._tables, query))
        first = items.pop(0) if items else {}  # it sorts before the operations
        version = values.integer(first, "version") if first else 0
        read = [readable(lambda item: _operation(tenant, item), item) for item in items]
        used = values.parse(values.optional_text(first, "used") or "{}")
        return AllOperations([each for each in read if each is not None], version, used)

    def create(
        self, operation: Operation, version: int, replaced: Operation | None, used: UsedKeys | None = None
    ) -> bool:
        """Write a new operation if no other one was created since `version`, and delete the one that it replaces. Write
        the keys `used` of replaced operations (None: they stay). Return whether it was written, by this call or by an
        earlier one without a response. Raises StoreBusyError.
        """
        changes = [Set("version", version + 1), *([] if used is None else [Set("used", values.document(used))])]
        writes: list[Write | Check] = [
            Put(Table.JOBS, _item(operation), Absent()),
            Update(Table.JOBS, _key(operation.tenant, ""), tuple(changes), holds({"version": version or None})),
        ]
        if replaced is not None:
            writes.append(Delete(Table.JOBS, _key(replaced.tenant, replaced.id)))
        try:
            if not self._tables.transact(writes):
                return True
        except AwsError:
            if self.get(operation.tenant, operation.id) is None:
                raise
            return True
        return self.get(operation.tenant, operation.id) is not None

    def handle(self, before: Operation, after: Operation) -> Operation | None:
        """Write the result of a page if no other one was written since `before`, and if the state is unchanged. Return
        None if it was written, otherwise the operation that was found. Raises KeyError if the operation was deleted.
        """
        return self._write(before, after, holds({"page": before.page, "state": before.state}))

    def cancel(self, operation: Operation, *, now: float) -> Operation | None:
        """Cancel the operation if its state is unchanged. Return the operation as it is now; None if it was deleted."""
        changes = (
            Set("state", OperationState.CANCELLED),
            Set("updated_at", now),
            Set("ended_at", now),
        )
        update = Update(Table.JOBS, _key(operation.tenant, operation.id), changes, equal("state", operation.state))
        try:
            written = self._tables.write(update, Returned.AFTER)
        except AwsError:
            found = self.get(operation.tenant, operation.id)
            if found is not None and found.state is operation.state:
                raise
            return found
        return None if written.item is None else _operation(operation.tenant, written.item)

    def _write(self, before: Operation, after: Operation, condition: Condition) -> Operation | None:
        standing: Operation | None
        try:
            written = self._tables.write(Put(Table.JOBS, _item(after), condition), Returned.FOUND)
        except AwsError:
            standing = self.get(before.tenant, before.id)
            if standing is None or (standing.page == before.page and standing.state is before.state):
                raise
        else:
            if written.held:
                return None
            standing = None if written.item is None else _operation(before.tenant, written.item)
        if standing is None:
            raise KeyError(before.id)
        return None if standing.writer == after.writer and standing.page == after.page else standing


def _key(tenant: str, operation_id: str) -> Item:
    return tenant_key(tenant, f"{OPERATION_PREFIX}{operation_id}")


def _item(operation: Operation) -> Item:
    position, skipped = operation.position, {str(why): count for why, count in operation.skipped.items()}
    return _key(operation.tenant, operation.id) | values.pack(
        {name: getattr(operation, name) for name in _FIELDS}
        | {
            "states": ",".join(operation.states),
            # As text: an empty set cannot be stored, and its absence would mean all jobs.
            "tags": None if operation.tags is None else values.document(sorted(operation.tags)),
            "position": values.document([position.step, position.before, position.mark]),
            "skipped": values.document(skipped) if skipped else None,
            "expires_at": operation.expires_at,
        }
    )


def _operation(tenant: str, item: Item) -> Operation:
    step, before, mark = values.parse(values.text(item, "position"))
    tags, skipped = values.optional_text(item, "tags"), values.optional_text(item, "skipped")
    return Operation(
        tenant,
        item["SK"]["S"].removeprefix(OPERATION_PREFIX),
        states=tuple(map(RunState, values.text(item, "states").split(","))),
        tags=None if tags is None else frozenset(values.parse(tags)),
        position=Position(step, before, None if mark is None else tuple(mark)),
        skipped={} if skipped is None else {Omission(why): count for why, count in values.parse(skipped).items()},
        **values.read_fields(Operation, item, _FIELDS),
    )
