"""The token by which a program that works on a run reports: `dc1.<tenant>.<attempt>.<secret>`.

It names tenant and attempt, so that one key finds the record and an attempt that is over is refused (fencing). Only a
hash of the secret is stored: read access to the table does not suffice to complete a run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest

from duecourse.domain.ids import ID_PATTERN

_TOKEN = re.compile(
    rf"dc1\.(?P<tenant>{ID_PATTERN})\.(?P<attempt>[1-9][0-9]{{0,8}})\.(?P<secret>[A-Za-z0-9_-]{{12,64}})"
)


class TokenError(ValueError):
    """Not a token."""


@dataclass(frozen=True, slots=True)
class CallbackToken:
    """One attempt's token. `secret` has at least 96 random bits."""

    tenant: str
    attempt: int
    secret: str

    def __str__(self) -> str:
        return f"dc1.{self.tenant}.{self.attempt}.{self.secret}"

    @property
    def hash(self) -> str:
        """The hash that the record keeps."""
        return sha256(str(self).encode()).hexdigest()

    def opens(self, callback_hash: str | None) -> bool:
        """Whether a record with that hash is this token's (compared in constant time)."""
        return callback_hash is not None and compare_digest(self.hash, callback_hash)


def read_token(text: str) -> CallbackToken:
    """Parse a token. Raises TokenError."""
    match = _TOKEN.fullmatch(text)
    if match is None:
        raise TokenError("is not a run's token")
    return CallbackToken(match["tenant"], int(match["attempt"]), match["secret"])
