"""The authentication of calls: a token, or a SigV4 signature for stages with the IAM authorizer."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from urllib.parse import urlsplit

import httpx

from duecourse.client.aws_session import own_session
from duecourse.client.calls import BY_API_KEY, check_encrypted

SERVICE = "execute-api"
KEY_BEGINS = "dck_"
"""The beginning of every API key."""
SIGNED_HOSTS = (".amazonaws.com", ".amazonaws.com.cn")


def needs_signature(api: str) -> bool:
    """Return whether the address is one of API Gateway's own. Stages with the IAM authorizer have such an address."""
    host = urlsplit(api).hostname or ""
    return host.endswith(SIGNED_HOSTS) and f".{SERVICE}." in host


def region_of(api: str) -> str | None:
    """Return the region in an API Gateway host: `abc.execute-api.eu-central-1.amazonaws.com`."""
    parts = (urlsplit(api).hostname or "").split(".")
    return parts[parts.index(SERVICE) + 1] if SERVICE in parts[:-1] else None


class Bearer(httpx.Auth):
    """Adds the same token to each request."""

    def __init__(self, token: str) -> None:
        """`token` is the issuer's token, unchanged. Raises ValueError for a token that a header cannot contain."""
        if not token.isascii() or not token.isprintable() or not token or " " in token:
            raise ValueError(
                "the token is empty, or contains a space or a character that is not printable ASCII; check that it was "
                "copied completely"
            )
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the header and send the request. Raises NotSentError for an address without encryption."""
        check_encrypted(str(request.url), "the token")
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


def identified(auth: httpx.Auth | None, key: str | None) -> tuple[httpx.Auth | None, str]:
    """Return the authentication of a client, and the prefix of its paths. Raises ValueError if `key` is no API key, or
    if there are both.
    """
    if key is None:
        return auth, ""
    if auth is not None:
        raise ValueError("pass an API key or another authentication, not both")
    if not key.startswith(KEY_BEGINS):
        raise ValueError(
            f"the API key is not valid, because it does not begin with {KEY_BEGINS}; check that it is not a token"
        )
    return Bearer(key), BY_API_KEY


class SigV4(httpx.Auth):
    """Signs each request with the credentials that botocore finds."""

    requires_request_body = True

    def __init__(self, credentials: Any, region: str) -> None:
        self._credentials = credentials
        self._region = region

    @classmethod
    def from_environment(cls, api: str, region: str | None = None) -> SigV4:
        """Use the usual AWS credentials. Without `region`, the region is taken from the address. Raises ValueError if
        no credentials or no region are found.
        """
        from botocore.exceptions import BotoCoreError

        session = own_session()
        try:
            credentials = session.get_credentials()
        except BotoCoreError as error:
            raise ValueError(f"AWS credentials for signing could not be loaded: {error}") from error
        found = region or region_of(api) or session.get_config_variable("region")
        if credentials is None:
            raise ValueError(
                "no AWS credentials were found for signing; use --token, or set AWS_PROFILE or AWS_ACCESS_KEY_ID"
            )
        if not found:
            raise ValueError("no AWS region is configured for signing; set AWS_REGION")
        return cls(credentials, found)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the signature's headers and send the request. Raises NotSentError for an address without encryption."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        check_encrypted(str(request.url), "the signature")
        signed = AWSRequest(
            method=request.method,
            url=str(request.url),
            data=request.content,
            headers={name: request.headers[name] for name in ("host", "content-type") if name in request.headers},
        )
        SigV4Auth(self._credentials, SERVICE, self._region).add_auth(signed)
        for name, value in signed.headers.items():
            request.headers[name] = value
        yield request
