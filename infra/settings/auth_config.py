"""The callers of a stage's API and their limits: validated parts of `StageConfig`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from duecourse.settings.reading import problem_of

KINDS = ("cognito", "jwt", "iam", "none")
CLAIM = "tenant"
MAX_CLAIM_LENGTH = 64
MAX_AUDIENCES = 50
"""The maximum number of audiences of a JWT authorizer (Amazon API Gateway Developer Guide, "HTTP API quotas")."""
OPEN_TO_READ = ("/v1/health", "/v1/openapi.json")
"""Routes without authorization that only read. `infra/functions/api.py` has the callback routes."""
WELL_KNOWN = ("/.well-known/openid-configuration", "/.well-known/jwks.json")
"""Routes without authorization that targets read to verify OIDC tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    """The authorization of the API. `cognito`: a user pool in the stack. `jwt`: tokens of any OIDC issuer. `iam`: SigV4
    signatures, with one tenant for all callers. `none`: no authorization, for the local stack only.
    """

    kind: str
    issuer: str | None = None
    """The issuer in the tokens' claim `iss`. OpenID discovery finds its keys."""
    audience: tuple[str, ...] = ()
    """The accepted values of a token's `aud` (or `client_id`)."""
    claim: str | None = None
    """The claim with the tenant; the default is `tenant`."""
    console_client: str | None = None
    """The public client of `issuer` for logins to the console."""
    console_scope: str = "openid offline_access"
    """The scopes that the console requests from `issuer`, the same as `duecourse login`."""

    @property
    def tenant_claim(self) -> str:
        """The claim with the tenant. Authentication kinds without tokens ignore it."""
        return CLAIM if self.claim is None else self.claim

    @property
    def setting(self) -> str:
        """The kind in the API function's settings, where Cognito is an issuer like others."""
        return "jwt" if self.kind == "cognito" else self.kind

    @property
    def console(self) -> bool:
        """Whether there is a console. A browser cannot sign requests, and an external issuer needs a client for it."""
        return self.kind in {"cognito", "none"} or (self.kind == "jwt" and self.console_client is not None)

    def problems(self, *, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
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
            yield "issuer", "must be the issuer of the tokens: set issuer in settings/<stage>.json"
        elif not self.issuer.startswith(schemes):
            yield "issuer", "must be an https address"
        if not self.audience or not all(self.audience):
            yield "audience", "must be the audience of the tokens: set audience in settings/<stage>.json"
        if len(self.audience) > MAX_AUDIENCES:
            yield "audience", f"must have at most {MAX_AUDIENCES} entries, which is API Gateway's limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """The limits of one tenant."""

    job_quota: int
    requests_per_second: int
    burst: int
    """The number of requests in a burst."""
    smallest_interval_seconds: int
    """The minimum seconds between two occurrences of a job."""
    backfill_limit: int
    """The maximum number of runs of one backfill."""
    delayed_runs_per_hour: int
    """The maximum number of delayed runs that are due in the same hour."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the API function."""
        return {f"DUECOURSE_{field.name.upper()}": str(getattr(self, field.name)) for field in fields(self)}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        for field in fields(self):
            if problem := problem_of(field.name, getattr(self, field.name)):
                yield field.name, problem
        if self.burst < self.requests_per_second:
            yield "burst", "must be at least requests_per_second"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiConfig:
    """The gateway's limits for all tenants together."""

    requests_per_second: int
    burst: int
    access_logs: bool
    open_requests_per_second: int = 5
    """The limit of each open route that only reads: health and the API's description. Tenants' limits do not apply to
    them, and each request costs money.
    """
    open_burst: int = 10
    callback_requests_per_second: int = 200
    """The limit of each of the routes heartbeat, complete and fail, which require no authorization. Calls to one
    route do not reduce the limits of the others.
    """
    callback_burst: int = 400
    log_requests_per_second: int = 50
    """The limit of the route log, instead of that of the callback routes: logs must not take the function's concurrency
    from heartbeats.
    """
    log_burst: int = 100
    hook_requests_per_second: int = 100
    """The limit of each route that requires an API key. It also limits how fast callers can try keys."""
    hook_burst: int = 200
    well_known_requests_per_second: int = 100
    """The limit of each document with which targets verify OIDC tokens. Above it, targets may reject calls."""
    well_known_burst: int = 200
    console_requests_per_second: int = 100
    """The limit of the console's page, and of its files. A first visit requests about twenty files, which browsers
    cache.
    """
    console_burst: int = 300

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        if not 1 <= self.open_requests_per_second <= self.requests_per_second:
            yield "open_requests_per_second", f"must be between 1 and {self.requests_per_second}"
        for routes in ("callback", "log", "hook", "well_known", "console"):
            if getattr(self, f"{routes}_requests_per_second") < 1:
                yield f"{routes}_requests_per_second", "must be at least 1"
        for routes in ("open", "callback", "log", "hook", "well_known", "console"):
            if getattr(self, f"{routes}_burst") < getattr(self, f"{routes}_requests_per_second"):
                yield f"{routes}_burst", f"must be at least {routes}_requests_per_second"
