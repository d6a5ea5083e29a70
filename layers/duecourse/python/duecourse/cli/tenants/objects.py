"""The objects of a tenant in the stage's buckets: its results, the logs of its runs, and its rows of the archive."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from duecourse.checks.tenants import tenant_of
from duecourse.cli.tenants.place import Place
from duecourse.cli.terminal import CliError

OWN = ("results", "logs")
"""The kinds of objects whose keys name their tenant: the first parts of these keys."""

NUMBER = 1000
"""The maximum number of objects of one DeleteObjects (Amazon S3 API Reference, "DeleteObjects")."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an object. `latest`: it is the current one. `marker`: it is a deletion marker, without content."""

    key: str
    id: str
    latest: bool
    marker: bool


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one tenant. All methods raise ClientError."""

    place: Place

    @property
    def _s3(self) -> Any:
        return self.place.stage.clients("s3")

    @property
    def results(self) -> str:
        """The bucket of results and logs."""
        return self.place.stage.outputs["ResultsBucket"]

    @property
    def archive(self) -> str:
        """The bucket of the archive."""
        return self.place.stage.outputs["ArchiveBucket"]

    def versions(self, bucket: str, prefix: str = "") -> Iterator[Version]:
        """Yield all versions of objects, deletion markers included."""
        start: dict[str, Any] = {}
        while True:
            page = self._s3.list_object_versions(Bucket=bucket, Prefix=prefix, **start)
            for name in ("Versions", "DeleteMarkers"):
                for each in page.get(name, ()):
                    yield Version(each["Key"], each["VersionId"], each["IsLatest"], name == "DeleteMarkers")
            if not page["IsTruncated"]:
                return
            start = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}

    def of_tenant(self, kind: str) -> Iterator[Version]:
        """Yield the versions of the tenant's objects of one of OWN."""
        return self.versions(self.results, f"{kind}/{self.place.tenant}/")

    def read(self, bucket: str, version: Version) -> tuple[bytes, str]:
        """Return the content of a version and its ETag."""
        found = self._s3.get_object(Bucket=bucket, Key=version.key, VersionId=version.id)
        return found["Body"].read(), found["ETag"]

    def delete(self, bucket: str, versions: list[Version]) -> int:
        """Delete versions, and return their number. Raises CliError if S3 rejects one."""
        for begin in range(0, len(versions), NUMBER):
            some = [{"Key": each.key, "VersionId": each.id} for each in versions[begin : begin + NUMBER]]
            answer = self._s3.delete_objects(Bucket=bucket, Delete={"Objects": some, "Quiet": True})
            if errors := answer.get("Errors"):
                raise CliError(f"{bucket}/{errors[0]['Key']} was not deleted: {errors[0].get('Message')}")
        return len(versions)

    def rows(self) -> Iterator[bytes]:
        """Yield the tenant's rows of the archive's current objects."""
        for number, version in enumerate(self.versions(self.archive), 1):
            self.place.progress("archive", number, None)
            if version.latest and not version.marker:
                yield from parted(self.read(self.archive, version)[0], self.place.tenant)[0]

    def erase_rows(self) -> int:
        """Remove the tenant's rows from every version of the archive's objects, and return their number.

        An object with other tenants' rows is first replaced, and then its old version is deleted. If another writer has
        replaced the object, or if this process dies in between, the next pass removes the rows: it reads all versions.
        """
        found = 0
        versions = [each for each in self.versions(self.archive) if not each.marker]
        for number, version in enumerate(versions, 1):
            self.place.progress("archive", number, len(versions))
            try:
                body, tag = self.read(self.archive, version)
            except ClientError as error:
                if error.response["Error"]["Code"] in {"NoSuchVersion", "NoSuchKey"}:
                    continue  # deleted in the meantime
                raise
            ours, others = parted(body, self.place.tenant)
            if not ours:
                continue
            found += len(ours)
            if not (version.latest and others) or self._replaced(version.key, others, tag):
                self.delete(self.archive, [version])
        return found

    def _replaced(self, key: str, rows: list[bytes], tag: str) -> bool:
        """Replace an object that has this ETag. Return whether the replaced version remains and has to be deleted."""
        body = gzip.compress(b"".join(rows), mtime=0)
        try:
            made = self._s3.put_object(
                Bucket=self.archive, Key=key, Body=body, ContentType="application/gzip", IfMatch=tag
            )
        except ClientError as error:
            if error.response["Error"]["Code"] in {"PreconditionFailed", "ConditionalRequestConflict"}:
                return False
            raise
        return "VersionId" in made


def parted(body: bytes, tenant: str) -> tuple[list[bytes], list[bytes]]:
    """Return the lines of an archive object in two parts: those of a tenant, and all others."""
    ours: list[bytes] = []
    others: list[bytes] = []
    for line in gzip.decompress(body).splitlines(keepends=True):
        (ours if _belongs(json.loads(line), tenant) else others).append(line)
    return ours, others


def _belongs(row: dict[str, Any], tenant: str) -> bool:
    image = row.get("image")
    if isinstance(image, dict):  # a record that could not be read
        return tenant_of(str(image.get("PK", "")), str(image.get("SK", ""))) == tenant
    return row.get("tenant") == tenant
