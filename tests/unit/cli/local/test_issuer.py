"""The issuer of a local stack with authentication."""

from pathlib import Path

import httpx
import jwt
import pytest

from duecourse.cli.local.demo.receiver import CallLog, Receiver
from duecourse.cli.local.issuer import AUDIENCE, FILE, LocalIssuer


def test_local_issuer_tokens_are_verified_by_the_documents_of_the_receiver(tmp_path: Path) -> None:
    issuer = LocalIssuer.of(tmp_path, "http://127.0.0.1:1")
    with Receiver(CallLog(), documents=issuer.documents) as receiver, httpx.Client(trust_env=False) as http:
        found = http.get(f"{receiver.url}/.well-known/openid-configuration").json()
        (key,) = http.get(f"{receiver.url}/keys").json()["keys"]
    token = issuer.token("acme", "jobs:read")
    assert (found["issuer"], found["jwks_uri"]) == (issuer.url, f"{issuer.url}/keys")
    assert jwt.get_unverified_header(token)["kid"] == key["kid"]
    claims = jwt.decode(token, jwt.PyJWK(key), algorithms=["RS256"], audience=AUDIENCE, issuer=issuer.url)
    assert (claims["tenant"], claims["scope"]) == ("acme", "jobs:read")


def test_local_issuer_key_remains_the_same_after_a_restart_and_is_private(tmp_path: Path) -> None:
    issuer = LocalIssuer.of(tmp_path, "http://127.0.0.1:1")
    assert LocalIssuer.of(tmp_path, issuer.url).documents == issuer.documents
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
    (tmp_path / "other").mkdir()
    other = LocalIssuer.of(tmp_path / "other", issuer.url).token("acme")
    key = jwt.PyJWK(issuer.documents["/keys"]["keys"][0])
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(other, key, algorithms=["RS256"], audience=AUDIENCE)
