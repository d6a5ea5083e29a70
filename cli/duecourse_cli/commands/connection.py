"""The options that name an API, and the client that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from duecourse_cli.client import ApiError, ApiUnreachableError, Client
from duecourse_cli.errors import CliError, UsageError
from duecourse_cli.signing import SigV4, needs_signature

F = TypeVar("F", bound=Callable[..., Any])


def api_options(command: F) -> F:
    """Add `--api` and `--sign` to a command."""
    command = click.option(
        "--sign/--no-sign",
        default=None,
        help="Sign the calls with your AWS credentials (on by itself where the address is API Gateway's own).",
    )(command)
    return click.option(
        "--api",
        envvar="DUECOURSE_API",
        metavar="URL",
        help="Address of the API: the stack's output ApiUrl, or what `duecourse local` prints.  [env: DUECOURSE_API]",
    )(command)


@contextmanager
def connected(api: str | None, sign: bool | None) -> Iterator[Client]:
    """A client for that address; what it raises becomes one line."""
    if not api:
        raise UsageError("no API address: give --api URL or set DUECOURSE_API")
    try:
        auth = SigV4.from_environment(api) if (needs_signature(api) if sign is None else sign) else None
    except ValueError as error:
        raise UsageError(str(error)) from error
    try:
        with Client(api, auth=auth) as client:
            yield client
    except ApiError as error:
        raise CliError(str(error)) from error
    except ApiUnreachableError as error:
        raise CliError(f"{error}; is the stack up, and is --api right?") from error
