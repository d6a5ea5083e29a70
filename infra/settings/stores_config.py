"""The archive of a stage's expired runs, the key of its stores, the tenants' buckets for results, and the standby in
another region.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from duecourse.limits import EVERY_TENANT, RESULT_BUCKET, RESULT_PREFIX, TENANT_IN_PREFIX

MAX_BATCH = 1_000
"""The maximum number of records of a batch. DynamoDB's stream allows 10,000 (AWS Lambda Developer Guide, "Parameters
for Amazon DynamoDB event source mappings"), but a record has up to 5 KB, and an invocation at most 6 MB.
"""

MAX_WINDOW_SECONDS = 300
STREAM_HOURS = 24
MIN_GLACIER_DAYS = 1


@dataclass(frozen=True, slots=True)
class ArchiveConfig:
    """The archive of runs whose records have expired."""

    glacier_after_days: int | None = 90
    """The days until objects are moved to Glacier Instant Retrieval (None: never). Storage there costs a fifth; reads
    cost a fee but have no delay. S3 does not move objects under 128 KB (Amazon S3 User Guide, "Transitioning objects
    using Amazon S3 Lifecycle").
    """
    retention_days: int | None = None
    """The days until objects are deleted. None: never."""
    batch_size: int = 1_000
    """The maximum number of runs of one object."""
    window_seconds: int = MAX_WINDOW_SECONDS
    """The seconds for which runs are collected for one object. A longer window creates fewer, larger objects, which are
    cheaper to query.
    """
    give_up_after_hours: int = 6
    """The hours for which a batch is retried before its position is sent to the failure queue. In the remaining part of
    the stream's 24 hours, an operator can archive it manually.
    """

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        checks = [
            (
                "glacier_after_days",
                self.glacier_after_days is None or self.glacier_after_days >= MIN_GLACIER_DAYS,
                "must be null or at least 1",
            ),
            (
                "retention_days",
                self.retention_days is None or self.retention_days > (self.glacier_after_days or 0),
                "must be null or more than glacier_after_days",
            ),
            ("batch_size", 1 <= self.batch_size <= MAX_BATCH, f"must be between 1 and {MAX_BATCH}"),
            (
                "window_seconds",
                0 <= self.window_seconds <= MAX_WINDOW_SECONDS,
                f"must be between 0 and {MAX_WINDOW_SECONDS}",
            ),
            (
                "give_up_after_hours",
                1 <= self.give_up_after_hours < STREAM_HOURS,
                f"must be between 1 and {STREAM_HOURS - 1}, because the stream keeps {STREAM_HOURS} hours",
            ),
        ]
        yield from ((name, problem) for name, fine, problem in checks if not fine)


OWN = "own"

_KEY_ARN = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64}")


def key_problem(key: str | None) -> str | None:
    """Return the fault of a stage's choice of key, or None if it is valid."""
    if key is None or key == OWN or _KEY_ARN.fullmatch(key):
        return None
    return f"must be none, {OWN} or the ARN of a KMS key (arn:aws:kms:...:key/..., no alias), not {key!r}"


def foreign_key(key: str | None, region: str) -> str | None:
    """Return the fault of a key of another region than the stage's (empty: not known yet), or None."""
    if key is None or key == OWN or not region or key.split(":")[3] == region:
        return None
    return f"must be a key of {region}, not of {key.split(':')[3]}: AWS encrypts only with keys of the same region"


MAX_BUCKETS_BYTES = 1_000
"""The maximum size of the buckets in the environment of a function, which has 4 KB for all variables (AWS Lambda
Developer Guide, "Lambda quotas").
"""

_BUCKET_PARTS = frozenset({"prefixes", "key", "account"})
_TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}|\*")
_ACCOUNT = re.compile(r"[0-9]{12}")

StageBuckets = Mapping[str, Mapping[str, Any]]


def buckets_json(buckets: StageBuckets) -> str:
    """Return the DUECOURSE_RESULT_BUCKETS setting of the API and the workers: the prefixes by bucket."""
    return json.dumps({bucket: parts["prefixes"] for bucket, parts in buckets.items()}, separators=(",", ":"))


def beginning_of(prefix: str) -> str:
    """Return the part of a prefix that is the same for all tenants."""
    return prefix.partition(TENANT_IN_PREFIX)[0]


def bucket_problems(buckets: StageBuckets) -> Iterator[tuple[str, str]]:
    """Yield each invalid bucket for results, or part of it, with its requirement."""
    for bucket, parts in buckets.items():
        prefixes, key, account = parts.get("prefixes"), parts.get("key"), parts.get("account")
        if re.fullmatch(RESULT_BUCKET, bucket) is None:
            yield bucket, "must be the name of a bucket"
        if unknown := sorted(parts.keys() - _BUCKET_PARTS):
            yield bucket, f"must have only {', '.join(sorted(_BUCKET_PARTS))}, not {', '.join(unknown)}"
        if key is not None and (not isinstance(key, str) or _KEY_ARN.fullmatch(key) is None):
            yield f"{bucket}.key", "must be the ARN of the KMS key of the bucket (arn:aws:kms:...:key/..., no alias)"
        if account is not None and (not isinstance(account, str) or _ACCOUNT.fullmatch(account) is None):
            yield f"{bucket}.account", "must be the account of the bucket: 12 digits, as a string"
        if isinstance(prefixes, Mapping) and prefixes:
            yield from ((f"{bucket}.prefixes.{tenant}", problem) for tenant, problem in _prefix_problems(prefixes))
        else:
            yield f"{bucket}.prefixes", 'must have the prefix of each tenant: {"acme": "duecourse/"}'
    if len(json.dumps(buckets).encode()) > MAX_BUCKETS_BYTES:
        yield ", ".join(buckets)[:40], f"must not take more than {MAX_BUCKETS_BYTES} bytes together as JSON"


def _prefix_problems(prefixes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each tenant with an invalid prefix in a bucket, with its requirement."""
    valid: dict[str, str] = {}
    for tenant, prefix in prefixes.items():
        if _TENANT.fullmatch(tenant) is None:
            yield tenant, f"must be a tenant, or {EVERY_TENANT} for all others"
        elif not isinstance(prefix, str) or re.fullmatch(RESULT_PREFIX, prefix.replace(TENANT_IN_PREFIX, "t")) is None:
            yield tenant, "must be empty, or folders such as duecourse/results/"
        elif (tenant == EVERY_TENANT) != prefix.endswith(f"{TENANT_IN_PREFIX}/"):
            yield tenant, f"must end with {TENANT_IN_PREFIX}/ for {EVERY_TENANT}, and only there"
        else:
            valid[tenant] = beginning_of(prefix)
    for tenant, prefix in valid.items():
        others = [each for each, other in valid.items() if each != tenant and prefix.startswith(other)]
        if others:
            yield tenant, f"must not be within the prefix of {others[0]}, whose results would be in the same folder"


_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")


@dataclass(frozen=True, slots=True)
class StandbyConfig:
    """The second region of a stage, whose tables are replicas (docs/decisions/023-standby.md). Both regions have the
    same settings.
    """

    home: str
    """The region whose stack creates the tables."""
    region: str
    """The region whose stack uses their replicas."""
    jobs_table: str | None = None
    """The tables' names, which are the same in both regions. The first deployment in `home` determines them."""
    runs_table: str | None = None
    runs_stream: str | None = None
    """The ARN of the stream of the runs table's replica in `region`."""
    here: str = ""
    """The region of this deployment, if it is known; otherwise a template for `home` is made."""

    @property
    def uses_replicas(self) -> bool:
        """Whether this deployment uses the replicas."""
        return self.here == self.region

    @property
    def fence(self) -> str:
        """The region of this deployment, for the functions."""
        return self.here or self.home

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        for name in ("home", "region"):
            if not _REGION.fullmatch(getattr(self, name)):
                yield name, "must be the name of a region, such as eu-west-1"
        if self.home == self.region:
            yield "region", "must be another region than home"
        if self.here not in ("", self.home, self.region):
            yield "region", f"must be {self.here}, or the stage must be deployed to {self.home} or {self.region}"
        if self.uses_replicas:
            for name in ("jobs_table", "runs_table", "runs_stream"):
                if getattr(self, name) is None:
                    yield name, f"must be set in {self.region}; docs/operations.md shows the commands that print it"
        if self.runs_stream is not None and not self.runs_stream.startswith("arn:"):
            yield "runs_stream", "must be an ARN (LatestStreamArn of the replica)"
