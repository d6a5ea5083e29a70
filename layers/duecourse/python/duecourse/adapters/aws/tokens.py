"""The stage's keys for OIDC tokens, in KMS."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from duecourse.domain.targets.oidc import OidcIssuer, signed, signing_input
from duecourse.ports import AwsError, Clock, ServiceError, TokensUnavailableError


class KmsTokens:
    """Signs tokens with the first key of the issuer."""

    def __init__(self, client: Any, issuer: OidcIssuer, clock: Clock) -> None:
        self._client = client
        self._issuer = issuer
        self._clock = clock

    def token(self, subject: str, audience: str) -> str:
        text = signing_input(self._issuer, subject, audience, int(self._clock.now()), str(uuid4()))
        try:
            answer = self._client.sign(
                KeyId=self._issuer.keys[0],
                Message=text.encode(),
                MessageType="RAW",
                SigningAlgorithm="RSASSA_PKCS1_V1_5_SHA_256",
            )
        except AwsError as error:
            # The message of a rejection may name the account and the role of the worker.
            reason = error.code if isinstance(error, ServiceError) else type(error).__name__
            raise TokensUnavailableError(f"KMS: {reason}") from error
        return signed(text, answer["Signature"])


class KmsPublicKeys:
    """Reads the public keys of the issuer once in a process: the material of a key never changes."""

    def __init__(self, client: Any, issuer: OidcIssuer) -> None:
        self._client = client
        self._keys = issuer.keys
        self._read: dict[str, bytes] = {}

    def public_keys(self) -> list[tuple[str, bytes]]:
        for key in self._keys:
            if key not in self._read:
                self._read[key] = self._client.get_public_key(KeyId=key)["PublicKey"]
        return [(key, self._read[key]) for key in self._keys]
