"""Large results in S3."""

from __future__ import annotations

from typing import Any

from duecourse.ports import LINK_SECONDS


class S3Results:
    """Stores each result as an object of one bucket. Lifecycle rules delete the objects some time after their runs."""

    def __init__(self, client: Any, bucket: str) -> None:
        """`client` is a client of `AwsClients`, which signs links for the host that serves them."""
        self._client = client
        self._bucket = bucket

    def put(self, key: str, document: bytes) -> None:
        """Store a result (JSON). Raises AwsError if it was not accepted."""
        self._client.put_object(Bucket=self._bucket, Key=key, Body=document, ContentType="application/json")

    def link(self, key: str) -> str:
        """Return a link with which anyone can read the result for five minutes. No request is sent: the link is signed
        locally with the credentials of this process, and expires with them at the latest.
        """
        link: str = self._client.generate_presigned_url(
            "get_object", Params={"Bucket": self._bucket, "Key": key}, ExpiresIn=LINK_SECONDS
        )
        return link
