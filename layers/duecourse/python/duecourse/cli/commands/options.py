"""The options that commands share: API, paging, JSON, and confirmation of irreversible actions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from duecourse.cli.terminal import CliError, UsageError, plain
from duecourse.client import TIMEOUT_SECONDS, ApiError, ApiUnreachableError, Client, UnauthorizedError
from duecourse.client.access import PROFILE, Access, NoApiError, access, access_to
from duecourse.client.access import TOKEN as TOKEN_VARIABLE
from duecourse.client.calls import LOCAL_HOSTS, NotSentError

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
yes_option = click.option("--yes", is_flag=True, help="Skip the confirmation prompt.")


def confirm(question: str) -> None:
    """Prompt for confirmation. Raises CliError if the user declines, UsageError without a terminal."""
    with prompting("there was no confirmation, so nothing was changed; without a terminal use --yes"):
        agreed = click.confirm(question, err=True)
    if not agreed:
        raise CliError("there was no confirmation, so nothing was changed")


@contextmanager
def prompting(problem: str) -> Iterator[None]:
    """Run prompts. Raises UsageError with the problem if there is no terminal and no input that answers them."""
    try:
        yield
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise UsageError(problem) from None


TOKEN = "duecourse.cli.token"
"""The key of the token in the context, so that commands do not need to pass it on."""

F = TypeVar("F", bound=Callable[..., Any])


def api_options(command: F) -> F:
    """Add `--api`, `--sign` and `--token` to a command. The token is stored in the context."""
    command = click.option(
        "--token",
        envvar="DUECOURSE_TOKEN",
        metavar="TOKEN",
        expose_value=False,
        callback=_remember,
        help="Send this token (a JWT) instead of signing; the environment variable is safer.  [env: DUECOURSE_TOKEN]",
    )(command)
    command = click.option(
        "--sign/--no-sign",
        default=None,
        help="Sign the calls with your AWS credentials (the default for API Gateway without a token).",
    )(command)
    return click.option(
        "--api",
        envvar="DUECOURSE_API",
        metavar="URL",
        help="The address of the API: the output ApiUrl of the stack. The default is the address in a profile "
        "(DUECOURSE_PROFILE, or the default profile), or the local stack that runs here.  [env: DUECOURSE_API]",
    )(command)


def answer_options(command: F) -> F:
    """Add the options of `api_options`, and `--json`."""
    return api_options(json_option(command))


def page_options(items: str) -> Callable[[F], F]:
    """Add `--limit` and `--cursor` to a command that lists `items`."""

    def add(command: F) -> F:
        command = click.option("--cursor", help="Continue after an earlier page (its next_cursor).")(command)
        bounds, described = click.IntRange(1, 100), f"The maximum number of {items}."
        return click.option("--limit", type=bounds, default=20, show_default=True, help=described)(command)

    return add


LOCAL_TIMEOUT_SECONDS = 120.0
"""The local stack starts a process at the first call of a function, which takes a minute on a busy machine."""


def timeout_of(api: str) -> float:
    """Return the number of seconds that a command waits for a response of this API. Raises ValueError for an invalid
    address.
    """
    return LOCAL_TIMEOUT_SECONDS if urlsplit(api).hostname in LOCAL_HOSTS else TIMEOUT_SECONDS


@contextmanager
def connected(api: str | None, sign: bool | None) -> Iterator[Client]:
    """Yield a client for the API. Errors become one line."""
    token: str | None = click.get_current_context().meta.get(TOKEN)
    try:
        found = _found(api, token)
        if (token := token or found.token) and sign:
            raise UsageError("--sign cannot be combined with a token; remove --sign, or --token and DUECOURSE_TOKEN")
        found = replace(found, token=token, sign=sign)
        auth, timeout = found.auth(), timeout_of(found.api)
    except ValueError as error:
        raise UsageError(plain(str(error))) from error
    try:
        with Client(found.api, auth=auth, retries=1, timeout=timeout) as client:
            yield client
    except UnauthorizedError as error:
        remedy = "the token is missing, expired or of another stage: set DUECOURSE_TOKEN, or use duecourse login"
        raise CliError(plain(f"{error}; {remedy}")) from error
    except ApiError as error:
        raise CliError(_text(error)) from error
    except NotSentError as error:
        raise UsageError(plain(str(error))) from error
    except UnicodeEncodeError as error:
        raise UsageError("an id or a cursor contains an unpaired surrogate; correct it. No request was sent") from error
    except ApiUnreachableError as error:
        raise CliError(plain(f"{error}; check that the stack is running and that --api is correct")) from error


def _text(error: ApiError) -> str:
    """Return an error in one line, or with a line for each of several invalid fields."""
    text = plain(str(error))
    for fault in map(plain, map(str, error.faults if len(error.faults) > 1 else ())):
        text = text.replace(f" - {fault}", f"\n  {fault}")
    return text


def _remember(context: click.Context, option: click.Parameter, token: str | None) -> None:
    """Store the token of the command line. `access` reads the environment's token, which belongs to one API."""
    given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    context.meta[TOKEN] = token if given else None


def _found(api: str | None, token: str | None) -> Access:
    """Return the given API, that of the environment or of a profile, or else the running local stack of this checkout.
    With a `token` of the command line, the environment's token is not read.

    Raises ValueError with the settings to use.
    """
    environment = {name: value for name, value in os.environ.items() if not (token and name == TOKEN_VARIABLE)}
    if api:
        return access_to(api, environment)
    try:
        return access(environment=environment)
    except NoApiError:
        if PROFILE in environment or (local := _local()) is None:
            raise
        return access_to(local, environment)


def _local() -> str | None:
    from duecourse.cli.local.project import find_root
    from duecourse.cli.local.settings import running

    try:
        return running(find_root(Path.cwd()) / ".duecourse" / "local")
    except CliError:  # there is no checkout here
        return None
