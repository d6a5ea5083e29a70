"""The API that a program calls and its credentials: from the environment, or from a profile of the user.

Profiles are in `~/.config/duecourse/profiles.toml`, or below XDG_CONFIG_HOME if it is set:

    default = "prod"

    [prod]
    api = "https://abc.execute-api.eu-central-1.amazonaws.com"
    issuer = "https://login.example.com"      # for `duecourse login`
    client_id = "duecourse"

The secret of a service account is in DUECOURSE_CLIENT_SECRET, never in the file. A service account does not need a
profile: the environment can contain DUECOURSE_API and all fields of a profile (DUECOURSE_ISSUER, DUECOURSE_CLIENT_ID,
…). The secret is sent only to the issuer in DUECOURSE_ISSUER. A profile uses the secret if it has that issuer. If the
environment also contains a client or an account, the profile must have the same. Likewise, DUECOURSE_TOKEN, or an API
key in DUECOURSE_API_KEY, is sent only to the API in DUECOURSE_API, or to an API that the caller names.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from duecourse.client.login import IssuedAuth, Issuer, TokenFile, TokenMemory
from duecourse.client.signing import KEY_BEGINS, Bearer, SigV4, needs_signature

API, TOKEN, KEY, PROFILE = "DUECOURSE_API", "DUECOURSE_TOKEN", "DUECOURSE_API_KEY", "DUECOURSE_PROFILE"
SECRET = "DUECOURSE_CLIENT_SECRET"
FIELDS = ("api", "issuer", "client_id", "scope", "audience", "account")
"""The fields of a profile. If DUECOURSE_API is set, they are read from the environment: DUECOURSE_API,
DUECOURSE_ISSUER, …
"""


class NoApiError(ValueError):
    """No API is configured."""


@dataclass(frozen=True, slots=True)
class Access:
    """The address of an API and the caller: with a token, with an API key, with tokens of an issuer, or with signatures
    by AWS credentials (`sign`). If `sign` is None, requests are signed if the address is API Gateway's own and there is
    neither a token nor a key.
    """

    api: str
    token: str | None = field(default=None, repr=False)
    sign: bool | None = None
    profile: str | None = None
    issuer: Issuer | None = None
    key: str | None = field(default=None, repr=False)

    def auth(self) -> httpx.Auth | None:
        """Return the authentication of requests; None with an API key, which the client takes as `key`. Raises
        ValueError for an invalid token, or without credentials.
        """
        if self.key:
            return None
        if self.token and self.token.startswith(KEY_BEGINS):
            raise ValueError(f"the token is an API key; set {KEY} instead of {TOKEN} or --token")
        if self.token:
            return Bearer(self.token)
        if self.issuer is not None and not self.sign:
            kept = TokenMemory() if self.issuer.secret else TokenFile.of(self.profile or "default")
            return IssuedAuth(self.issuer, kept)
        wanted = needs_signature(self.api) if self.sign is None else self.sign
        return SigV4.from_environment(self.api) if wanted else None


def profiles_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the file of profiles."""
    home = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "duecourse" / "profiles.toml"


def profiles(environment: Mapping[str, str] = os.environ) -> Mapping[str, object]:
    """Return the profiles by name, and `default`. Raises ValueError for a file that cannot be read."""
    path = profiles_file(environment)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def access(profile: str | None = None, environment: Mapping[str, str] = os.environ) -> Access:
    """Return the API of this profile, of the profile in DUECOURSE_PROFILE, of DUECOURSE_API, or of the default profile:
    the first that is set.

    Raises NoApiError with the remedy if no API is configured, and ValueError if it is unclear whether the secret or the
    token in the environment belongs to the profile.
    """
    wanted = profile or environment.get(PROFILE)
    if wanted is None and environment.get(API):
        said = {field: found for field in FIELDS if (found := environment.get(f"DUECOURSE_{field.upper()}"))}
        if "issuer" in said and SECRET not in environment:
            raise ValueError(
                f"DUECOURSE_ISSUER is set without {SECRET}; set both for a service account, or write a profile"
            )
        return _access(said.pop("api"), said, None, environment, environment.get(SECRET))
    known = profiles(environment)
    name = wanted or known.get("default")
    if name is None:
        raise NoApiError(
            f"no API address is configured; set {API}, write a profile to {profiles_file(environment)}, "
            "or start a local stack in a checkout: make local"
        )
    match known.get(str(name)):
        case {"api": str(api), **more}:
            if (variable := _credential(environment)) and not environment.get(API):
                remedy = f"set {API} to {api} if it belongs to the profile {name}, or unset {variable}"
                raise ValueError(f"{variable} is set without its API; {remedy}")
            is_known = _same(environment.get(API), api) and _credential(environment)
            secret = None if is_known else _secret_of(str(name), more, environment)
            return _access(api, more, str(name), environment, secret)
        case _:
            raise NoApiError(
                f"there is no profile {name} with an api in {profiles_file(environment)}; add it with duecourse "
                "profile add"
            )


def _access(
    api: str, more: Mapping[Any, object], profile: str | None, environment: Mapping[str, str], secret: str | None
) -> Access:
    """Return the access to an API, with the other fields of a profile or of the environment."""
    texts = {field: str(more[field]) for field in FIELDS if field in more}
    issuer, client = texts.pop("issuer", None), texts.pop("client_id", None)
    found = None if issuer is None or client is None else Issuer(issuer, client, secret=secret, **texts)
    own = environment if _same(environment.get(API), api) and _credential(environment) else {}
    return Access(api, own.get(TOKEN), profile=profile, issuer=found, key=own.get(KEY) or None)


def _credential(environment: Mapping[str, str]) -> str | None:
    """Return the name of the variable with a token or an API key, which belongs to one API; None without one. Raises
    ValueError if there are both.
    """
    if environment.get(TOKEN) and environment.get(KEY):
        raise ValueError(f"{TOKEN} and {KEY} are both set; unset one of them")
    return next((name for name in (TOKEN, KEY) if environment.get(name)), None)


def _same(one: str | None, other: str) -> bool:
    return one is not None and one.rstrip("/") == other.rstrip("/")


def access_to(api: str, environment: Mapping[str, str] = os.environ) -> Access:
    """Return the access to an API that the caller names. The environment's token or API key is used unless it belongs
    to another API (DUECOURSE_API). Raises ValueError for such a token or key.
    """
    variable, own = _credential(environment), environment.get(API)
    if variable and own and not _same(own, api):
        raise ValueError(
            f"{variable} belongs to {API} ({own}), not to {api}; pass --token, set {API} to {api}, or unset {variable}"
        )
    return Access(api, environment.get(TOKEN), key=environment.get(KEY) or None)


def _secret_of(name: str, profile: Mapping[Any, object], environment: Mapping[str, str]) -> str | None:
    """Return the environment's secret if it belongs to the profile. Raises ValueError if this is unclear, or if the
    profile belongs to a service account whose secret is missing.
    """
    issuer, secret, own = profile.get("issuer"), environment.get(SECRET), environment.get("DUECOURSE_ISSUER")
    if issuer is None:
        return None
    if secret is not None and own is None:
        remedy = f"set DUECOURSE_ISSUER to {issuer} if it belongs to the profile {name}, or unset {SECRET}"
        raise ValueError(f"{SECRET} is set without its issuer; {remedy}")
    named = [(profile.get(field), environment.get(f"DUECOURSE_{field.upper()}")) for field in ("client_id", "account")]
    if secret is not None and own == issuer and all(given in (None, wanted) for wanted, given in named):
        return secret
    if "account" in profile:
        remedy = f"set {SECRET}, and DUECOURSE_ISSUER to {issuer}"
        raise ValueError(
            f"the profile {name} requires the secret of the service account {profile['account']}; {remedy}"
        )
    return None
