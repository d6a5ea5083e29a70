"""The logs of runs in S3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duecourse.ports import ServiceError
from duecourse.ports.logs import StoredPortion


class S3Logs:
    """Implementation of ports.logs.LogStore with one bucket. S3 lists a portion as soon as it is written (Amazon S3
    User Guide, "Amazon S3 data consistency model"). Lifecycle rules delete the portions.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def write_portion(self, key: str, text: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=key, Body=text, ContentType="text/plain; charset=utf-8")

    def portions(self, folder: str, after: str, limit: int) -> Sequence[StoredPortion]:
        start = {"StartAfter": after} if after else {}
        page = self._client.list_objects_v2(Bucket=self._bucket, Prefix=folder, MaxKeys=limit, **start)
        return [
            StoredPortion(each["Key"], each["Size"], each["LastModified"].timestamp())
            for each in page.get("Contents", ())
        ]

    def read_portion(self, key: str) -> bytes:
        try:
            found: bytes = self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ServiceError as error:
            if error.code == "NoSuchKey":
                return b""
            raise
        return found
