"""The domain name of a stage's API, and its validation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_NAME_LENGTH = 253
"""The maximum length of a domain name without a final dot (RFC 1035, section 2.3.4)."""

_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})+")
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]{1,64}")
_ZONE = re.compile(r"Z[A-Z0-9]{1,31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDomainConfig:
    """A domain name for the HTTP API, in addition to the endpoint of API Gateway. It is the address in the outputs, the
    address of the console, and the issuer (`iss`) of the tokens that the stage signs.
    """

    name: str
    """Such as `jobs.example.com`: without a scheme, a path, a wildcard or a final dot."""
    certificate: str
    """The ARN of a certificate for the name, in ACM in the stage's account and region."""
    hosted_zone: str | None = None
    """The id of the hosted zone (Route 53, in the stage's account) in which the stack creates the record of the name.
    None: the operator creates it.
    """

    @property
    def address(self) -> str:
        """The address of the API."""
        return f"https://{self.name}"

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        if problem := _name_problem(self.name):
            yield "name", f"{problem}, not {self.name!r}"
        if _CERTIFICATE.fullmatch(self.certificate) is None:
            wanted = "must be the ARN of a certificate in ACM (arn:aws:acm:REGION:ACCOUNT:certificate/ID)"
            yield "certificate", f"{wanted}, not {self.certificate!r}"
        if self.hosted_zone is not None and _ZONE.fullmatch(self.hosted_zone) is None:
            wanted = "must be the id of a hosted zone, such as Z0123456789ABCDEFGHIJ (not its name or path)"
            yield "hosted_zone", f"{wanted}, not {self.hosted_zone!r}"

    def foreign(self, region: str, account: str) -> str | None:
        """Return the fault of a certificate of another region or account than the stage's (empty: not known yet), or
        None.
        """
        _, _, _, its_region, its_account, _ = self.certificate.split(":", 5)
        for where, own, given in (("region", region, its_region), ("account", account, its_account)):
            if own and given != own:
                return (
                    f"must be of the {where} {own}, not {given}: API Gateway uses only certificates of its own {where}"
                )
        return None


def _name_problem(name: str) -> str | None:
    """Return the fault of a domain name, or None if it is valid."""
    if "*" in name:
        return "must be one name without a wildcard, because callers and tokens need one address"
    if "/" in name or ":" in name:
        return "must be a name such as jobs.example.com, without a scheme, a port and a path"
    if name.endswith("."):
        return "must not end with a dot"
    if name != name.lower():
        return "must be in lowercase, because API Gateway rejects capitals"
    if len(name) > MAX_NAME_LENGTH or _NAME.fullmatch(name) is None:
        return "must be a domain name such as jobs.example.com"
    return None
