"""Who may call a stage's API, and how much of it: validated parts of `StageConfig`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

KINDS = ("cognito", "jwt", "iam", "none")
CLAIM = "tenant"
MAX_CLAIM_LENGTH = 64
OPEN_TO_READ = ("/v1/health", "/v1/openapi.json")
"""Routes without authorization that only read; `infra/functions/api.py` has those of callbacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    """`cognito`: a user pool that the stack makes. `jwt`: tokens of any OIDC issuer. `iam`: SigV4 signatures, all
    callers one tenant. `none`: everybody; for the local stack alone.
    """

    kind: str
    issuer: str | None = None
    """As the tokens' claim `iss` has it; its keys are found by OpenID discovery."""
    audience: tuple[str, ...] = ()
    """What a token's `aud` (or `client_id`) may be."""
    claim: str | None = None
    """The claim that names the tenant, where it is not `tenant`."""
    console_client: str | None = None
    """The public client of `issuer` by which people log in to the console."""
    console_scope: str = "openid offline_access"
    """What the console asks `issuer` for, as `duecourse login` does."""

    @property
    def tenant_claim(self) -> str:
        """The claim that names the tenant; kinds without tokens read none."""
        return CLAIM if self.claim is None else self.claim

    @property
    def setting(self) -> str:
        """The API function's settings: to it, Cognito is an issuer like others."""
        return "jwt" if self.kind == "cognito" else self.kind

    @property
    def console(self) -> bool:
        """Whether there is a console: a browser signs no requests, and another issuer has to know it."""
        return self.kind in {"cognito", "none"} or (self.kind == "jwt" and self.console_client is not None)

    def problems(self, *, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        if self.kind not in KINDS:
            yield "kind", f"must be one of {', '.join(KINDS)}"
        if self.kind == "none" and not on_this_machine:
            yield (
                "kind",
                "must not be none outside the local stage, because every caller could then run jobs in this account",
            )
        if self.kind == "jwt":
            yield from self._problems_of_tokens(on_this_machine)
        elif self.issuer or self.audience:
            yield "issuer", f"and audience are for the kind jwt, not {self.kind}"
        if self.console_client is not None and (self.kind != "jwt" or not self.console_client):
            yield "console_client", "must be the id of a public client of auth.issuer, or be unset"
        if not 1 <= len(self.tenant_claim) <= MAX_CLAIM_LENGTH:
            yield "claim", f"must have 1 to {MAX_CLAIM_LENGTH} characters"

    def _problems_of_tokens(self, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        schemes = ("https://", "http://") if on_this_machine else ("https://",)
        if not self.issuer:
            yield "issuer", "must be the issuer of the tokens: -c issuer=https://..."
        elif not self.issuer.startswith(schemes):
            yield "issuer", "must be an https address"
        if not self.audience or not all(self.audience):
            yield "audience", "must be the audience of the tokens: -c audience=..."


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """What one tenant may use of the API."""

    job_quota: int
    requests_per_second: int
    burst: int
    """Requests at once, after a quiet time."""
    smallest_interval_seconds: int
    """Between two occurrences of a job."""
    backfill_limit: int
    """Runs of one backfill."""
    delayed_runs_per_hour: int
    """Delayed runs that are due in the same hour."""

    @property
    def environment(self) -> dict[str, str]:
        """For the API function."""
        return {f"DUECOURSE_{field.name.upper()}": str(getattr(self, field.name)) for field in fields(self)}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        for field in fields(self):
            if getattr(self, field.name) < 1:
                yield field.name, "must be at least 1"
        if self.burst < self.requests_per_second:
            yield "burst", "must be at least requests_per_second"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiConfig:
    """The gateway's guard rails, for all tenants together."""

    requests_per_second: int
    burst: int
    access_logs: bool
    open_requests_per_second: int = 5
    """The limit of each route without authorization that only reads: health and the API's description. They have no
    tenant whose limits would hold, and each request costs.
    """
    open_burst: int = 10
    callback_requests_per_second: int = 200
    """The limit of each of heartbeat, complete and fail, which need no authorization: a call that is rejected takes
    nothing from the others' share.
    """
    callback_burst: int = 400
    console_requests_per_second: int = 100
    """Of these for the console's page, and for its files: about twenty at a first visit, which browsers keep."""
    console_burst: int = 300

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right."""
        if not 1 <= self.open_requests_per_second <= self.requests_per_second:
            yield "open_requests_per_second", f"must be between 1 and {self.requests_per_second}"
        for routes in ("callback", "console"):
            if getattr(self, f"{routes}_requests_per_second") < 1:
                yield f"{routes}_requests_per_second", "must be at least 1"
        for routes in ("open", "callback", "console"):
            if getattr(self, f"{routes}_burst") < getattr(self, f"{routes}_requests_per_second"):
                yield f"{routes}_burst", f"must be at least {routes}_requests_per_second"
