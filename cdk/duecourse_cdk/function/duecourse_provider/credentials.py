"""The function's credentials for a stage. Tokens are read when they are needed and never stored."""

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
"""The required and the optional fields of a secret with client credentials."""
ACCOUNT = tuple(f"DUECOURSE_{name}" for name in ("ISSUER", "CLIENT_ID", "ACCOUNT", "CLIENT_SECRET"))
"""The fields for a service account of the stage's user pool, from `duecourse accounts create --json`."""
LOCAL = "http://127.0.0.1:"


class CredentialsError(Exception):
    """The secret does not have the required fields. The message lists them, but never the secret's content."""


def authorizer(auth: Mapping[str, str], patience: Patience, aws: Session) -> Authorize:
    """Return the authentication of requests for the property `Auth` of a resource."""
    if auth["Kind"] == "iam":
        return _signed(aws, auth["Region"])
    secret = _read(auth, aws)
    token = _granted(secret, patience) if auth["Kind"] == "client_credentials" else secret.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise CredentialsError(f"{_where(auth)} must contain only a token")
    return lambda _method, _url, _body: {"authorization": f"Bearer {token}"}


def _signed(aws: Session, region: str) -> Authorize:
    """Return SigV4 signatures with the function's own role."""

    def sign(method: str, url: str, body: bytes) -> Headers:
        request = AWSRequest(method=method, url=url, data=body, headers={"content-type": "application/json"})
        SigV4Auth(aws.get_credentials(), SERVICE, region).add_auth(request)
        return dict(request.headers.items())

    return sign


def _read(auth: Mapping[str, str], aws: Session) -> str:
    """Return the secret's value. Raises botocore's errors, which contain the secret's name."""
    if parameter := auth.get("Parameter"):
        answer = aws.create_client("ssm").get_parameter(Name=parameter, WithDecryption=True)
        return str(answer["Parameter"]["Value"])
    return str(aws.create_client("secretsmanager").get_secret_value(SecretId=auth["Secret"])["SecretString"])


def _granted(secret: str, patience: Patience) -> str:
    """Return a token for client credentials (RFC 6749, 4.4), or for a service account of a user pool."""
    try:
        known: Mapping[str, Any] = json.loads(secret)
        named = ACCOUNT if ACCOUNT[0] in known else CREDENTIALS
        url, client_id, *more = (str(known[key]) for key in named)
    except (ValueError, KeyError, TypeError):
        wanted = f"{', '.join(CREDENTIALS)}, or the output of `duecourse accounts create --json`"
        raise CredentialsError(f"the secret must be a JSON object with {wanted}") from None
    if not url.startswith(("https://", LOCAL)):
        raise CredentialsError(f"{named[0]} of the secret must start with https://")
    if named is ACCOUNT:
        return _of_pool(url, client_id, *more, patience=patience)
    (password,) = more
    form = {"grant_type": "client_credentials", **{key: str(known[key]) for key in ASKED if known.get(key)}}
    basic = base64.b64encode(f"{quote(client_id, safe='')}:{quote(password, safe='')}".encode()).decode()
    issuer = Api(url, patience)
    answer = issuer.send(
        "POST",
        "",
        urlencode(form).encode(),
        content_type="application/x-www-form-urlencoded",
        authorization=f"Basic {basic}",
    )
    return str(answer.body.get("access_token") or "")


def _of_pool(issuer: str, client_id: str, account: str, password: str, *, patience: Patience) -> str:
    """Return a token of a user pool (Amazon Cognito, InitiateAuth, which does not need a signature)."""
    shown = {"USERNAME": account, "PASSWORD": password}
    body = {"ClientId": client_id, "AuthFlow": "USER_PASSWORD_AUTH", "AuthParameters": shown}
    answer = Api(issuer.rpartition("/")[0], patience).send(
        "POST",
        "/",
        json.dumps(body).encode(),
        content_type="application/x-amz-json-1.1",
        x_amz_target="AWSCognitoIdentityProviderService.InitiateAuth",
    )
    return str((answer.body.get("AuthenticationResult") or {}).get("AccessToken") or "")


def _where(auth: Mapping[str, str]) -> str:
    return auth.get("Parameter") or auth.get("Secret") or "the secret"
