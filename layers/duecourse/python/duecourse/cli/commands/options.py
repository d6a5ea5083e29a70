"""The options that commands share: API, paging, JSON, and confirmation of irreversible actions."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from duecourse.cli.progress import awaited, errors
from duecourse.cli.terminal import CliError, InterruptedCliError, UsageError, outputs, plain
from duecourse.client import TIMEOUT_SECONDS, ApiError, ApiUnreachableError, Client, NotFoundError, UnauthorizedError
from duecourse.client.access import KEY as KEY_VARIABLE
from duecourse.client.access import PROFILE, Access, NoApiError, access, access_to
from duecourse.client.access import TOKEN as TOKEN_VARIABLE
from duecourse.client.calls import LOCAL_HOSTS, ApiAnswer, Call, NotSentError

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
        click.echo(err=True)
        if sys.stdin.isatty():
            raise InterruptedCliError("interrupted, so nothing was changed") from None
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
        help="A token for the API.  [env: DUECOURSE_TOKEN]",
    )(command)
    command = click.option(
        "--sign/--no-sign",
        default=None,
        help="Sign requests with AWS credentials.",
    )(command)
    return click.option(
        "--api",
        envvar="DUECOURSE_API",
        metavar="URL",
        help="The address of the API.  [env: DUECOURSE_API]",
    )(command)


def answer_options(command: F) -> F:
    """Add the options of `api_options` and `outputs` to a command whose document has no ids, such as counts."""
    return api_options(outputs(ids=False)(command))


def named_options(command: F) -> F:
    """Add the options of `api_options` and `outputs` to a command whose document has ids."""
    return api_options(outputs()(command))


def wide_options(command: F) -> F:
    """Add the options of a command that prints a table, which can be `wide`."""
    return api_options(outputs("wide")(command))


def list_options(command: F) -> F:
    """Add the options of a command that lists things with ids."""
    return api_options(outputs("wide", "name")(command))


def page_options(items: str) -> Callable[[F], F]:
    """Add `--limit` and `--cursor` to a command that lists `items`."""

    def add(command: F) -> F:
        command = click.option("--cursor", help="Continue after an earlier page (its next_cursor).")(command)
        bounds, described = click.IntRange(1, 100), f"The maximum number of {items}."
        return click.option("--limit", type=bounds, default=20, show_default=True, help=described)(command)

    return add


LOCAL_TIMEOUT_SECONDS = 120.0
"""The local stack starts a process at the first call of a function, which takes a minute on a busy machine."""


READING = frozenset({"GET", "HEAD"})


class _Awaited(Client):
    """A client that shows on a terminal which response it waits for, and knows whether it has sent a write."""

    has_written = False

    def send(self, call: Call) -> ApiAnswer:
        """Return the response to one request, like Client."""
        self.has_written = self.has_written or call.method not in READING
        with awaited(f"waiting for {plain(self.api)} …"):
            return super().send(call)


def timeout_of(api: str) -> float:
    """Return the number of seconds that a command waits for a response of this API: with its retry, at most a minute
    for people at a terminal. Raises ValueError for an invalid address.
    """
    is_patient = urlsplit(api).hostname in LOCAL_HOSTS and not errors().is_terminal
    return LOCAL_TIMEOUT_SECONDS if is_patient else TIMEOUT_SECONDS


@contextmanager
def connected(api: str | None, sign: bool | None) -> Iterator[Client]:
    """Yield a client for the API. Errors become one line, and so does Ctrl-C, which says whether a write was sent."""
    token: str | None = click.get_current_context().meta.get(TOKEN)
    try:
        found = _found(api, token)
        if (token := token or found.token) and sign:
            raise UsageError("--sign cannot be combined with a token; remove --sign, or --token and DUECOURSE_TOKEN")
        if found.key and sign:
            raise UsageError("--sign cannot be combined with an API key; remove --sign, or unset DUECOURSE_API_KEY")
        found = replace(found, token=token, sign=sign)
        caller = _Awaited(found.api, auth=found.auth(), key=found.key, retries=1, timeout=timeout_of(found.api))
    except ValueError as error:
        raise UsageError(plain(str(error))) from error
    try:
        with caller as client:
            try:
                yield client
            except KeyboardInterrupt:
                sent = "the last change may have been made; check it before you repeat the command"
                said = sent if client.has_written else "nothing was changed"
                raise InterruptedCliError(f"interrupted; {said}") from None
            except NotFoundError as error:
                raise CliError(f"{_foreign(error, found.api) or _text(error)}{_similar(client, error)}") from error
    except UnauthorizedError as error:
        remedy = "the token is missing, expired or of another stage: set DUECOURSE_TOKEN, or use duecourse login"
        if found.key:
            remedy = "check DUECOURSE_API_KEY"
        raise CliError(plain(f"{str(error).rstrip('.')}; {remedy}")) from error
    except ApiError as error:
        raise CliError(_foreign(error, found.api) or _text(error)) from error
    except NotSentError as error:
        raise UsageError(plain(str(error))) from error
    except UnicodeEncodeError as error:
        raise UsageError("an id or a cursor contains an unpaired surrogate; correct it. No request was sent") from error
    except ApiUnreachableError as error:
        raise CliError(plain(f"{error}; check that the stack is running and that --api is correct")) from error


def _foreign(error: ApiError, api: str) -> str | None:
    """Return a sentence if the response is that of another program, such as a page for people; else None."""
    said = str(error.problem.get("detail", ""))
    is_page = said.startswith("<") or "(<" in said
    if error.by_duecourse or not (is_page or error.status == 404 or 300 <= error.status < 400):
        return None
    answered = f"the response is {error.status}{' with a page for browsers' if is_page else ''}"
    return plain(f"no Duecourse API at {api}: {answered}; check --api, DUECOURSE_API or the profile")


def _similar(client: Client, error: ApiError) -> str:
    """Return a remedy for an unknown job, workflow or run: similar ids, or the list of the job's runs."""
    named = re.search('"(.+)"', str(error.problem.get("detail")))
    if named is None or not error.by_duecourse:
        return ""
    name = named[1]
    if error.type == "unknown-run":
        return plain(f" See duecourse runs list {name.partition('.')[0]}")
    with suppress(ApiError, ApiUnreachableError):
        if error.type in ("unknown-job", "unknown-workflow"):
            known = client.list_jobs(search=name, limit=SIMILAR).items
            near = [job.id for job in known] or get_close_matches(
                name, [job.id for job in client.list_jobs(prefix=name[:1], limit=100).items], SIMILAR
            )
            return plain(f" Did you mean {' or '.join(near)}?") if near else ""
    return ""


SIMILAR = 3
"""The maximum number of ids that an error suggests."""


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
    With a `token` of the command line, the environment's token and API key are not read.

    Raises ValueError with the settings to use.
    """
    replaced = (TOKEN_VARIABLE, KEY_VARIABLE) if token else ()
    environment = {name: value for name, value in os.environ.items() if name not in replaced}
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
