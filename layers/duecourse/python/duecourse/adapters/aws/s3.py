"""The archive and large results in S3."""

from __future__ import annotations

import gzip
from typing import Any

import orjson

from duecourse.domain.maintenance.archive import Sheet
from duecourse.ports import LINK_SECONDS, ResultRefusedError, ServiceError


class S3Archive:
    """Implementation of ports.archive.Archive with one bucket. Equal sheets produce equal bytes."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, sheet: Sheet) -> None:
        """Store a sheet. Content-Encoding is not set: readers that respect it would decompress the object, but Athena
        expects the format of the key's extension.
        """
        lines = b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in sheet.rows)
        body = gzip.compress(lines, mtime=0)
        self._client.put_object(Bucket=self._bucket, Key=sheet.key, Body=body, ContentType="application/gzip")


class S3Results:
    """Stores each result as an object of one bucket. Lifecycle rules delete the objects some time after their runs."""

    def __init__(self, client: Any, bucket: str) -> None:
        """`client` is a client of `AwsClients`, which signs links for the host that serves them."""
        self._client = client
        self._bucket = bucket

    def put(self, key: str, document: bytes, bucket: str | None = None) -> None:
        place = self._bucket if bucket is None else bucket
        try:
            self._client.put_object(Bucket=place, Key=key, Body=document, ContentType="application/json")
        except ServiceError as error:
            if bucket is None:
                raise
            raise ResultRefusedError(error.code) from error

    def get(self, key: str) -> bytes | None:
        """Return the object with this key; None if there is none. Raises ServiceError.

        For a missing object, a caller who may not list the bucket gets AccessDenied (Amazon S3 API Reference,
        "GetObject"). It is an error: results are kept longer than their runs, so a lost permission is more likely.
        """
        try:
            found: bytes = self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ServiceError as error:
            if error.code == "NoSuchKey":
                return None
            raise
        return found

    def link(self, key: str) -> str:
        """Return a link with which anyone can read the result for five minutes. No request is sent: the link is signed
        locally with the credentials of this process, and expires with them at the latest.
        """
        link: str = self._client.generate_presigned_url(
            "get_object", Params={"Bucket": self._bucket, "Key": key}, ExpiresIn=LINK_SECONDS
        )
        return link
