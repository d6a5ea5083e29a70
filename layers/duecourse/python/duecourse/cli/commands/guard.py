"""Turns failures and signals of the long-running commands into one line and an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from botocore.exceptions import BotoCoreError, ClientError

from duecourse.cli.local.emulator.process import Stopped, stoppable
from duecourse.cli.local.remedies import remedied
from duecourse.cli.terminal import CliError, plain
from duecourse.client import ApiError, ApiUnreachableError


@contextmanager
def guarded(*, stopping_is_normal: bool = False) -> Iterator[None]:
    """Run the block until it ends or is interrupted."""
    try:
        with stoppable():
            yield
    except Stopped as stopped:
        click.echo("stopped; all processes have ended", err=True)
        raise SystemExit(0 if stopping_is_normal else stopped.exit_code) from None
    except ApiError as error:
        raise CliError(plain(f"the API rejected the request: {error}")) from error
    except ApiUnreachableError as error:
        raise CliError(str(error)) from error
    except (BotoCoreError, ClientError) as error:
        raise CliError(f"the local stack returned an unexpected response: {error}") from error
    except OSError as error:
        what = f"{error.strerror or error} {error.filename or ''}".strip()
        raise CliError(remedied(what, what)) from error
