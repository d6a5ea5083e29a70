"""What goes wrong on a command line: said in one line, never as a traceback."""

from __future__ import annotations

from typing import IO, Any

import click

from duecourse_cli.plain import plain


class CliError(click.ClickException):
    """A failure with a remedy; shown as `duecourse: message` and turned into the exit status."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to standard error, without the word Error and without a traceback."""
        lines = f"duecourse: {self.format_message()}".split("\n")
        click.echo("\n".join(map(plain, lines)), file=file, err=file is None)


class UsageError(CliError):
    """A failure that the caller can mend by calling differently; exit status 2."""

    exit_code = 2
