"""The archive in S3: compressed JSON lines."""

from __future__ import annotations

import gzip
from typing import Any

import orjson

from duecourse.domain.maintenance.archive import Sheet


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
