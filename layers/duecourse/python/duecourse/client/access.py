"""Which API a program calls, and as whom: the environment first, then a profile of the user's.

Profiles are in `~/.config/duecourse/profiles.toml` (or where XDG_CONFIG_HOME says):

    default = "prod"

    [prod]
    api = "https://abc.execute-api.eu-central-1.amazonaws.com"
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from duecourse.client.signing import Bearer, SigV4, needs_signature

API, TOKEN, PROFILE = "DUECOURSE_API", "DUECOURSE_TOKEN", "DUECOURSE_PROFILE"


@dataclass(frozen=True, slots=True)
class Access:
    """The address of an API, and who calls it: with a token, or signed with AWS credentials (`sign`; None: where the
    address is API Gateway's own and there is no token).
    """

    api: str
    token: str | None = None
    sign: bool | None = None

    def auth(self) -> httpx.Auth | None:
        """What httpx shows with each request. Raises ValueError for a token that is none, or without credentials."""
        if self.token:
            return Bearer(self.token)
        wanted = needs_signature(self.api) if self.sign is None else self.sign
        return SigV4.from_environment(self.api) if wanted else None


def profiles_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where profiles are kept."""
    home = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "duecourse" / "profiles.toml"


def profiles(environment: Mapping[str, str] = os.environ) -> Mapping[str, object]:
    """The profiles by name, and `default`. Raises ValueError for a file that cannot be read."""
    path = profiles_file(environment)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def access(profile: str | None = None, environment: Mapping[str, str] = os.environ) -> Access:
    """The API of this profile, of DUECOURSE_PROFILE, of DUECOURSE_API, or of the default profile.

    Raises ValueError that says what to set where none of them names one.
    """
    token = environment.get(TOKEN)
    wanted = profile or environment.get(PROFILE)
    if wanted is None and (api := environment.get(API)):
        return Access(api, token)
    known = profiles(environment)
    name = wanted or known.get("default")
    if name is None:
        raise ValueError(f"no API address: set {API}, or write a profile to {profiles_file(environment)}")
    match known.get(str(name)):
        case {"api": str(api)}:
            return Access(api, token)
        case _:
            raise ValueError(f"no profile {name} with an api in {profiles_file(environment)}")
