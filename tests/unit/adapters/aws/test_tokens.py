"""OIDC tokens for targets: a receiver that knows only the discovery document verifies them with PyJWT."""

from __future__ import annotations

import jwt
import pytest

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.tokens import KmsPublicKeys, KmsTokens
from duecourse.domain.targets.oidc import SKEW_SECONDS, TOKEN_SECONDS, OidcIssuer, configuration, key_set
from duecourse.ports import TokensUnavailableError
from duecourse.testing.clock import SettableClock

AUDIENCE = "https://shop.example/hooks"
NOW = 1_795_243_620


def new_key(clients: AwsClients, spec: str = "RSA_2048") -> str:
    made = clients.get("kms").create_key(KeySpec=spec, KeyUsage="SIGN_VERIFY")
    return str(made["KeyMetadata"]["KeyId"])


def issuer_with(*keys: str) -> OidcIssuer:
    return OidcIssuer("https://jobs.example", keys)


class Receiver:
    """It has the two documents that the issuer publishes, and nothing else of the issuer."""

    def __init__(self, clients: AwsClients, issuer: OidcIssuer) -> None:
        self.discovered = configuration(issuer)
        assert self.discovered["jwks_uri"] == "https://jobs.example/.well-known/jwks.json"
        self.keys = jwt.PyJWKSet.from_dict(key_set(KmsPublicKeys(clients.get("kms"), issuer).public_keys()))

    def claims(self, token: str, audience: str = AUDIENCE) -> dict[str, object]:
        return jwt.decode(
            token,
            self.keys[jwt.get_unverified_header(token)["kid"]],
            algorithms=self.discovered["id_token_signing_alg_values_supported"],
            audience=audience,
            issuer=self.discovered["issuer"],
            options={"require": self.discovered["claims_supported"], "verify_exp": False, "verify_iat": False},
        )


def signer(clients: AwsClients, issuer: OidcIssuer) -> KmsTokens:
    return KmsTokens(clients.get("kms"), issuer, SettableClock(NOW + 0.5))


def test_oidc_token_is_verified_by_a_receiver_with_the_discovery_document_alone(mocked: AwsClients) -> None:
    issuer = issuer_with(new_key(mocked))
    token = signer(mocked, issuer).token("acme/nightly", AUDIENCE)
    claims = Receiver(mocked, issuer).claims(token)
    assert claims == {
        "iss": "https://jobs.example",
        "sub": "acme/nightly",
        "aud": AUDIENCE,
        "iat": NOW - SKEW_SECONDS,
        "exp": NOW - SKEW_SECONDS + TOKEN_SECONDS,
        "jti": claims["jti"],
    }
    assert TOKEN_SECONDS <= 3600
    assert claims["jti"] != Receiver(mocked, issuer).claims(signer(mocked, issuer).token("a/b", AUDIENCE))["jti"]


def test_oidc_token_is_rejected_by_another_audience_and_after_a_change(mocked: AwsClients) -> None:
    issuer = issuer_with(new_key(mocked))
    token = signer(mocked, issuer).token("acme/nightly", AUDIENCE)
    receiver = Receiver(mocked, issuer)
    with pytest.raises(jwt.InvalidAudienceError):
        receiver.claims(token, "https://other.example")
    head, claims, signature = token.split(".")
    other = signer(mocked, issuer).token("acme/payroll", AUDIENCE).split(".")[1]
    with pytest.raises(jwt.InvalidSignatureError):
        receiver.claims(f"{head}.{other}.{signature}")
    assert other != claims


def test_oidc_keys_of_a_rotation_verify_tokens_of_both_keys(mocked: AwsClients) -> None:
    old, new = new_key(mocked), new_key(mocked)
    before, after = issuer_with(old, new), issuer_with(new, old)
    tokens = [signer(mocked, each).token("acme/nightly", AUDIENCE) for each in (before, after)]
    assert [jwt.get_unverified_header(token)["kid"] for token in tokens] == [old, new]
    for issuer in (before, after):
        assert [Receiver(mocked, issuer).claims(token)["sub"] for token in tokens] == ["acme/nightly"] * 2


def test_oidc_token_that_kms_does_not_sign_is_unavailable_without_account_and_role(mocked: AwsClients) -> None:
    with pytest.raises(TokensUnavailableError, match=r"\AKMS: NotFoundException\Z"):
        signer(mocked, issuer_with("6f1b9f0e-0000-4000-8000-000000000000")).token("acme/nightly", AUDIENCE)


def test_oidc_public_keys_are_read_once(mocked: AwsClients) -> None:
    key = new_key(mocked)
    published = KmsPublicKeys(mocked.get("kms"), issuer_with(key))
    first = published.public_keys()
    mocked.get("kms").schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
    assert published.public_keys() == first


def test_oidc_key_of_another_form_is_not_published(mocked: AwsClients) -> None:
    key = new_key(mocked, "ECC_NIST_P256")
    with pytest.raises(ValueError, match=f"the key {key} is not an RSA key of 2,048 bits"):
        key_set(KmsPublicKeys(mocked.get("kms"), issuer_with(key)).public_keys())
