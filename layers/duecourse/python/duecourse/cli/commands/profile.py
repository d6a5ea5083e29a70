"""`duecourse profile`: manage the profiles of stages."""

from __future__ import annotations

import json
import re

import click

from duecourse.cli.output.documents import Profiles
from duecourse.cli.output.values import print_fields, print_json
from duecourse.cli.terminal import Command, Group, UsageError, outputs, plain, say
from duecourse.client.access import FIELDS, profiles, profiles_file

DEFAULT = "default"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
"""Names that do not need quotes in TOML."""


@click.group(cls=Group, example="duecourse profile add prod --api https://… --issuer https://login.example.com")
def profile() -> None:
    """List, add, choose and remove profiles. A profile has the address of an API and the issuer of its tokens."""


@profile.command("list", cls=Command, example="duecourse profile list")
@outputs()
def list_profiles(as_json: bool) -> None:
    """List the profiles; `default` is the profile that is used if no profile is given."""
    known = _known()
    if as_json:
        items = [{"name": name, **fields} for name, fields in known.items() if isinstance(fields, dict)]
        default = known.get(DEFAULT)
        print_json(Profiles(items=items, next_cursor=None, default=None if default is None else str(default)))
    else:
        print_fields(known)


@profile.command(
    cls=Command, example="duecourse profile add prod --api https://… --issuer https://… --client-id duecourse"
)
@click.argument("name")
@click.option("--api", required=True, metavar="URL", help="Address of the API.")
@click.option("--issuer", metavar="URL", help="The OIDC issuer of tokens, for `duecourse login`.")
@click.option("--client-id", help="The client id of this command at the issuer.")
@click.option("--scope", help="The OAuth scopes to request.  [default: openid offline_access]")
@click.option("--audience", help="The audience, if the issuer requires one.")
@click.option("--account", help="A service account of the stage's own user pool (duecourse accounts).")
@click.option("--use", "chosen", is_flag=True, help="Make this profile the default.")
def add(name: str, chosen: bool, **given: str | None) -> None:
    """Add a profile, or change one."""
    if not _BARE.fullmatch(name) or name == DEFAULT:
        raise UsageError(
            plain(
                "the name of a profile must have only letters (A-Z, a-z), digits, - and _, and must not be "
                f"{DEFAULT}: {name}"
            )
        )
    if (given["issuer"] is None) != (given["client_id"] is None):
        raise UsageError("--issuer and --client-id must be set together")
    known = _known()
    known[name] = {field: given[field] for field in FIELDS if given[field] is not None}
    if chosen or DEFAULT not in known:
        known[DEFAULT] = name
    _write(known)
    say(f"{name} is written to {profiles_file()}" + (f"; log in: duecourse login {name}" if given["issuer"] else ""))


@profile.command(cls=Command, example="duecourse profile use prod")
@click.argument("name")
def use(name: str) -> None:
    """Make a profile the default."""
    known = _known()
    if not isinstance(known.get(name), dict):
        raise UsageError(plain(f"there is no profile {name}; list the profiles with duecourse profile list"))
    _write(known | {DEFAULT: name})
    say(f"{name} is the default")


@profile.command(cls=Command, example="duecourse profile remove old")
@click.argument("name")
def remove(name: str) -> None:
    """Remove a profile."""
    known = _known()
    if not isinstance(known.pop(name, None), dict):
        raise UsageError(plain(f"there is no profile {name}; list the profiles with duecourse profile list"))
    if known.get(DEFAULT) == name:
        del known[DEFAULT]
    _write(known)
    say(f"{name} removed")


def _known() -> dict[str, object]:
    try:
        return dict(profiles())
    except ValueError as error:
        raise UsageError(plain(str(error))) from error


def _write(known: dict[str, object]) -> None:
    """Write the profiles as TOML. Raises UsageError for values that could not be read again, before anything is
    written.
    """
    lines = [f"{_key(name)} = {_text(value)}" for name, value in known.items() if isinstance(value, str)]
    for name, fields in known.items():
        if isinstance(fields, dict):
            lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {_text(str(value))}" for key, value in fields.items())]
    path = profiles_file()
    try:
        written = ("\n".join(lines) + "\n").encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"a profile's values must be UTF-8: {error.reason}") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(written)


def _text(value: str) -> str:
    """Return a basic string of TOML. JSON strings are basic strings, except for pairs of surrogates and U+007F."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)
