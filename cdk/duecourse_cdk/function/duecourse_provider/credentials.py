"""Who the function is to a stage. Tokens are read when they are needed and kept nowhere."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import Session

from duecourse_provider.api import Api, Authorize, Headers, Patience

SERVICE = "execute-api"
CREDENTIALS = ("token_url", "client_id", "client_secret")
ASKED = ("scope", "audience")
"""What a secret of client credentials must hold, and may."""


class CredentialsError(Exception):
    """The secret does not hold what it should; says what it should hold, never what it holds."""


def authorizer(auth: Mapping[str, str], patience: Patience, aws: Session) -> Authorize:
    """How requests show who asks, by the property `Auth` of a resource."""
    if auth["Kind"] == "iam":
        return _signed(aws, auth["Region"])
    secret = _read(auth, aws)
    token = _granted(secret, patience) if auth["Kind"] == "client_credentials" else secret.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise CredentialsError(f"{_where(auth)} must hold a token and nothing else")
    return lambda _method, _url, _body: {"authorization": f"Bearer {token}"}


def _signed(aws: Session, region: str) -> Authorize:
    """SigV4 with the function's own role."""

    def sign(method: str, url: str, body: bytes) -> Headers:
        request = AWSRequest(method=method, url=url, data=body, headers={"content-type": "application/json"})
        SigV4Auth(aws.get_credentials(), SERVICE, region).add_auth(request)
        return dict(request.headers.items())

    return sign


def _read(auth: Mapping[str, str], aws: Session) -> str:
    """The secret's value. Raises botocore's errors, which name the secret."""
    if parameter := auth.get("Parameter"):
        answer = aws.create_client("ssm").get_parameter(Name=parameter, WithDecryption=True)
        return str(answer["Parameter"]["Value"])
    return str(aws.create_client("secretsmanager").get_secret_value(SecretId=auth["Secret"])["SecretString"])


def _granted(secret: str, patience: Patience) -> str:
    """A token for client credentials (RFC 6749, 4.4)."""
    try:
        known: Mapping[str, Any] = json.loads(secret)
        url, name, password = (str(known[key]) for key in CREDENTIALS)
    except (ValueError, KeyError, TypeError):
        raise CredentialsError(f"the secret must be a JSON object with {', '.join(CREDENTIALS)}") from None
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise CredentialsError("token_url of the secret must begin with https://")
    form = {"grant_type": "client_credentials", **{key: str(known[key]) for key in ASKED if known.get(key)}}
    basic = base64.b64encode(f"{quote(name, safe='')}:{quote(password, safe='')}".encode()).decode()
    issuer = Api(url, patience)
    answer = issuer.send(
        "POST",
        "",
        urlencode(form).encode(),
        content_type="application/x-www-form-urlencoded",
        authorization=f"Basic {basic}",
    )
    return str(answer.body.get("access_token") or "")


def _where(auth: Mapping[str, str]) -> str:
    return auth.get("Parameter") or auth.get("Secret") or "the secret"
