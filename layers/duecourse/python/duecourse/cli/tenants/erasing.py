"""Erases a tenant: counts first, then passes over all stores until a pass finds nothing.

Every step can be repeated, so a command that was interrupted continues. A worker that read a job before its deletion
may still write for it, and the archive may still receive expired runs. So the last pass begins when no invocation of
that time can be active any longer (QUIET_SECONDS). Messages that arrive later find neither a job nor a tombstone, and
are dropped without a write.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from duecourse.checks.tenants import (
    ADMITTED_SECONDS,
    BARRED_SECONDS,
    QUIET_SECONDS,
    RECORD_SECONDS,
    kind_of,
)
from duecourse.cli.output.documents import ErasedTenant, utc
from duecourse.cli.secrets import StoredSecrets
from duecourse.cli.tenants.objects import OWN, Objects
from duecourse.cli.tenants.place import BATCH, MAX_WAIT_SECONDS, MIN_WAIT_SECONDS, Item, Place, packed
from duecourse.cli.tenants.suspending import close
from duecourse.limits import EVERY_TENANT, TENANT_IN_PREFIX

SIDE_BY_SIDE = 8
"""The maximum number of concurrent requests."""

RECORD = "ERASURE#"

LEFT = (
    "messages in the queues name jobs and runs for up to 14 days, and are dropped",
    "logs of functions name jobs and runs until they expire (log_retention_days)",
    "point-in-time recovery of the tables contains the tenant for up to 35 days; after a restore, erase it again",
    "backups and exports of your own",
    "the item that keeps the tenant closed for 15 days, and the record of this erasure for 400 days",
)
"""The data of every tenant that remain after an erasure, for the report."""


def left(place: Place) -> list[str]:
    """Return the data that remain after the tenant's erasure. The objects in `result_buckets` remain, because these
    buckets are not the stage's own.
    """
    buckets = json.loads(place.stage.worker_settings().get("DUECOURSE_RESULT_BUCKETS") or "{}")
    found = ((bucket, each.get(place.tenant, each.get(EVERY_TENANT))) for bucket, each in buckets.items())
    return [
        *(
            f"results in s3://{bucket}/{prefix.replace(TENANT_IN_PREFIX, place.tenant)} (setting result_buckets); "
            "delete them there"
            for bucket, prefix in found
            if prefix is not None
        ),
        *LEFT,
    ]


def counted(place: Place) -> Counter[str]:
    """Return the number of the tenant's items, by kind. Nothing is changed."""
    found = Counter[str]()
    for table in (place.jobs, place.runs):
        for items in place.pages(table, only_keys=True):
            found.update(kind_of(item["SK"]["S"]) for item in items if not _stays(item))
    objects = Objects(place)
    for kind in OWN:
        found[kind] = sum(1 for _ in objects.of_tenant(kind))
    found["archived runs"] = sum(1 for _ in objects.rows())
    found["secrets"] = sum(1 for _ in secrets_of_tenant(place).all())
    found["accounts"] = len(_accounts(place))
    return found


def erase(place: Place, *, by: str, wait: bool = True) -> ErasedTenant:
    """Erase the tenant and return the report. Without `wait`, return an unfinished report (`state` is `waiting`) if the
    last pass must begin later; the command then has to be repeated. Raises ClientError and CliError.
    """
    closed = close(place, "erased", by=by)
    record = _Record(place, closed.since)
    record.begin(by)
    record.add(_pass(place))
    quiet = place.rate().get("quiet_at")
    if quiet is None:
        place.wait_until(closed.since + ADMITTED_SECONDS, "requests in progress")
        record.add(_pass(place))
        quiet = packed(place.now() + QUIET_SECONDS)
        place.write(place.jobs, place.rate_key, "SET quiet_at = :at", "closed = :state", _quiet(quiet))
    until = float(quiet["N"])
    while True:
        if not wait and place.now() < until:
            return record.report("waiting", until)
        place.wait_until(until, "workers in progress")
        found = _pass(place)
        record.add(found)
        if not found.total():
            break
    barred = int(place.now()) + BARRED_SECONDS
    place.write(
        place.jobs,
        place.rate_key,
        "SET expires_at = :at REMOVE closed_note",
        "closed = :state AND attribute_not_exists(expires_at)",
        {"at": barred, "state": "erased"},
    )
    record.end()
    return record.report("erased")


def _quiet(at: Item) -> Mapping[str, object]:
    return {"at": float(at["N"]), "state": "erased"}


def _stays(item: Item) -> bool:
    """Return whether an erasure keeps the item: it is the item that closes the tenant, or a record of an erasure."""
    kind, sort = item["PK"]["S"].partition("#")[0], item["SK"]["S"]
    closing: bool = sort == "RATE" or sort.startswith(RECORD)
    return kind == "TENANT" and closing


def _pass(place: Place) -> Counter[str]:
    """Erase all data that is found, the jobs first: without a job, nothing starts and nothing is recorded."""
    found = Counter[str]()
    for table in (place.jobs, place.runs):
        for items in place.pages(table, only_keys=True):
            keys = [item for item in items if not _stays(item)]
            with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
                some = [keys[begin : begin + BATCH] for begin in range(0, len(keys), BATCH)]
                list(threads.map(partial(_delete, place, table), some))
            found.update(kind_of(item["SK"]["S"]) for item in keys)
    objects = Objects(place)
    for kind in OWN:
        found[kind] = objects.delete(objects.results, [*objects.of_tenant(kind)])
    found["archived runs"] = objects.erase_rows()
    secrets = secrets_of_tenant(place)
    for secret in [*secrets.all()]:
        secrets.erase(secret.name)
        found["secrets"] += 1
    for user in _accounts(place):
        place.stage.clients("cognito-idp").admin_delete_user(UserPoolId=_pool(place), Username=user)
        found["accounts"] += 1
    return found


def _delete(place: Place, table: str, keys: list[Item]) -> None:
    requests: list[Item] = [{"DeleteRequest": {"Key": {"PK": key["PK"], "SK": key["SK"]}}} for key in keys]
    wait = MIN_WAIT_SECONDS
    while requests:
        answer = place.database.batch_write_item(RequestItems={table: requests})
        requests = answer.get("UnprocessedItems", {}).get(table, [])
        if requests:
            place.sleep(wait)
            wait = min(2 * wait, MAX_WAIT_SECONDS)


def secrets_of_tenant(place: Place) -> StoredSecrets:
    """Return the tenant's secrets in the store of the stage."""
    from duecourse.cli.secrets import secrets_of

    return secrets_of(place.stage, place.tenant)


def _pool(place: Place) -> str | None:
    return place.stage.outputs.get("UserPoolId")


def _accounts(place: Place) -> list[str]:
    """Return the names of the tenant's users and service accounts in the stage's own pool, if it has one."""
    from duecourse.cli.accounts import ATTRIBUTE

    pool = _pool(place)
    if pool is None:
        return []
    pages = place.stage.clients("cognito-idp").get_paginator("list_users").paginate(UserPoolId=pool)
    wanted = {"Name": ATTRIBUTE, "Value": place.tenant}
    return [user["Username"] for page in pages for user in page["Users"] if wanted in user["Attributes"]]


class _Record:
    """The record of an erasure, `TENANT#<tenant>/ERASURE#<ms>`: its author, its times, and what was erased."""

    def __init__(self, place: Place, since: float) -> None:
        self._place = place
        self._key = place.rate_key | {"SK": {"S": f"{RECORD}{int(since * 1000)}"}}

    def begin(self, by: str) -> None:
        """Write the record, unless an earlier call has written it."""
        self._place.write(
            self._place.jobs,
            self._key,
            "SET begun_at = :now, begun_by = :by, expires_at = :expires",
            "attribute_not_exists(PK)",
            {"now": self._place.now(), "by": by, "expires": int(self._place.now()) + RECORD_SECONDS},
        )

    def add(self, found: Counter[str]) -> None:
        """Add to the counts. The counts of an interrupted pass are not included, although its items are erased."""
        counts = {f"n_{kind.replace(' ', '_')}": number for kind, number in found.items() if number}
        if counts:
            change = "ADD " + ", ".join(f"{name} :{name}" for name in counts)
            self._place.write(self._place.jobs, self._key, change, "attribute_exists(PK)", counts)

    def end(self) -> None:
        """Record the end, unless an earlier call has recorded it."""
        values = {"now": self._place.now()}
        self._place.write(self._place.jobs, self._key, "SET ended_at = :now", "attribute_not_exists(ended_at)", values)

    def report(self, state: str, until: float | None = None) -> ErasedTenant:
        """Return the report."""
        item = self._place.database.get_item(TableName=self._place.jobs, Key=self._key, ConsistentRead=True)["Item"]
        numbers = {name: int(value["N"]) for name, value in item.items() if name.startswith("n_")}
        ended = item.get("ended_at")
        return {
            "tenant": self._place.tenant,
            "stage": self._place.stage.name,
            "state": state,
            "begun_by": item["begun_by"]["S"],
            "begun_at": utc(float(item["begun_at"]["N"])),
            "ended_at": None if ended is None else utc(float(ended["N"])),
            "repeat_after": None if until is None else utc(until),
            "erased": {name.removeprefix("n_"): number for name, number in sorted(numbers.items())},
            "left": left(self._place),
        }
