"""Large results, in S3."""

from __future__ import annotations

from typing import Any

from duecourse.ports import LINK_SECONDS


class S3Results:
    """One bucket, one object a result. Lifecycle rules delete them some time after their runs."""

    def __init__(self, client: Any, bucket: str) -> None:
        """`client` is that of `AwsClients`, which signs links for the host that serves them."""
        self._client = client
        self._bucket = bucket

    def put(self, key: str, document: bytes) -> None:
        """Write a result (JSON); raises AwsError when it was not accepted."""
        self._client.put_object(Bucket=self._bucket, Key=key, Body=document, ContentType="application/json")

    def link(self, key: str) -> str:
        """An address at which the result can be read for five minutes, by anyone who has it. No request is sent: it is
        signed here, with this process's credentials, and ends with them too.
        """
        link: str = self._client.generate_presigned_url(
            "get_object", Params={"Bucket": self._bucket, "Key": key}, ExpiresIn=LINK_SECONDS
        )
        return link
