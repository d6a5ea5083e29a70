"""The output of commands: plain text, errors in one line and never as a traceback, and help with an example."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import IO, Any, TypeVar

import click

from duecourse.cli import INTERRUPTED

_BREAKS = re.compile("\r\n|[\t\n\v\f\r\x85\u2028\u2029]")
_BEYOND_ASCII = "\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_STEERING = re.compile(f"[\x00-\x1f{_BEYOND_ASCII}]")
"""Control characters, with which a target's response could control the terminal; characters that change the direction
of text; and surrogates, which cannot be printed.
"""

_UNPRINTABLE = re.compile(f"[{_BEYOND_ASCII}]")
"""The same characters, except the ones that JSON itself escapes."""


def plain(text: str) -> str:
    """Return the text as one line without control characters."""
    return _STEERING.sub("\ufffd", _BREAKS.sub(" ", text))


def escaped(document: str) -> str:
    """Return the JSON with escaped control characters."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def say(text: str) -> None:
    """Print a plain line to standard output."""
    click.echo(plain(text))


def fitted(text: str, indent: int) -> list[str]:
    """Return a plain text in lines that fit the terminal, broken between words; further lines begin in column `indent`,
    or further left if a word does not fit there. In a pipe, it is one line.
    """
    from rich.console import Console

    line, console = plain(text), Console()
    if not console.is_terminal:
        return [line]
    left = console.width - max(map(len, line.split()), default=0)
    margin = " " * max(0, min(indent, left))
    return textwrap.wrap(
        line, console.width, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    ) or [line]


MAX_FILE_BYTES = 64 * 1024 * 1024
"""The maximum size of a file that a command reads. An endless one, such as /dev/zero, ends here."""


def read_text(path: str, *, may_be_empty: bool = False) -> str:
    """Return the content of a file with unchanged line ends, without a byte order mark. `-` is standard input; a prompt
    is printed if it is a terminal. Raises UsageError, also for a text of only white space unless it `may_be_empty`.
    """
    name = source_name(path)
    try:
        with click.open_file(path, "rb") as file:
            if path == "-" and file.isatty():
                click.echo("reading standard input: type the text, then Ctrl-D; or name a file", err=True)
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise UsageError(plain(f"{name} has more than {MAX_FILE_BYTES:,} bytes; use several files"))
        found: str = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(plain(f"{name}: the text is not UTF-8; save it as UTF-8")) from error
    except OSError as error:
        raise UsageError(plain(f"{name}: {error.strerror or error}")) from error
    if not may_be_empty and not found.strip():
        remedy = "name a file, or write to standard input" if path == "-" else "write to it, or name another file"
        raise UsageError(plain(f"{name} is empty; {remedy}"))
    return found


def source_name(path: str) -> str:
    """Return the name of a file for messages; `-` is standard input."""
    return "standard input" if path == "-" else path


F = TypeVar("F", bound=Callable[..., Any])

_OUTPUT = "duecourse.cli.output"
_KINDS = {"wide": "all columns, and values are not truncated", "name": "only ids, one per line"}


def outputs(*tables: str, ids: bool = True, default: str = "table") -> Callable[[F], F]:
    """Return a decorator that adds `-o` and `--json`. The command receives `as_json`, which is true if it prints a
    document (`print_json`): as JSON, as YAML, or as the document's ids. `ids`: the document has ids.

    With `tables` (wide, name), the command receives `output`, and prints these itself. Other commands print their
    tables with `print_table`, which follows `wide`. `default` is the format without an option.
    """
    kinds = tables or (("wide", "name") if ids else ("wide",))

    def add(command: F) -> F:
        command = click.option("--json", "as_json", is_flag=True, callback=_is_document, help="Print JSON.")(command)
        return click.option(
            "-o",
            "--output",
            type=click.Choice(["table", *kinds, "json", "yaml"]),
            default=default,
            show_default=True,
            expose_value=bool(tables),
            is_eager=True,
            callback=_chosen,
            help="; ".join(f"{each}: {_KINDS[each]}" for each in kinds),
        )(command)

    return add


def _chosen(context: click.Context, _option: click.Parameter, output: str) -> str:
    context.meta[_OUTPUT] = output
    return output


def _is_document(context: click.Context, _option: click.Parameter, given: bool) -> bool:
    if given:
        context.meta[_OUTPUT] = "json"
    chosen = context.meta.get(_OUTPUT)
    return chosen in ("json", "yaml") or (chosen == "name" and "output" not in context.params)


def form() -> str | None:
    """Return the format that this command prints: table, wide, name, json or yaml. None for a command without `-o`."""
    context = click.get_current_context(silent=True)
    found: str | None = None if context is None else context.meta.get(_OUTPUT)
    return found


class CliError(click.ClickException):
    """A failure with a remedy. It is shown as `duecourse: message` and sets the exit code."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to standard error, without the word Error and without a traceback."""
        lines = f"duecourse: {self.format_message()}".split("\n")
        click.echo("\n".join(map(plain, lines)), file=file, err=file is None)


class UsageError(CliError):
    """A failure that the caller can correct; exit code 2."""

    exit_code = 2


class InterruptedCliError(CliError):
    """Ctrl-C."""

    exit_code = INTERRUPTED


class WaitTimeoutError(CliError):
    """A wait that ended before its run; exit code 124, like that of timeout(1)."""

    exit_code = 124


def usage_text(error: click.UsageError) -> str:
    """Return click's message in the form of the other errors, with the command that shows the help."""
    text = error.format_message().removesuffix(".")
    path = "duecourse" if error.ctx is None else error.ctx.command_path
    return plain(f"{text[:1].lower()}{text[1:]}; see {path} --help")


class _WithExample(click.Command):
    def __init__(self, *args: Any, example: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.example = example

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the arguments. Raises UsageError, so that all errors have the same form."""
        try:
            made = super().make_context(*args, **extra)
            for param in self.params:
                if (given := made.params.get(param.name or "")) != given:
                    raise click.BadParameter("NaN is not a number", made, param)
        except click.exceptions.NoArgsIsHelpError:
            raise  # prints the help
        except click.UsageError as error:
            raise UsageError(usage_text(error)) from error
        return made

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the whole first sentence of the help for the list of commands, which wraps it."""
        del limit
        return super().get_short_help_str(1000)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the example's lines after the options."""
        del ctx
        with formatter.section("Example"):
            for line in self.example.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Command(_WithExample):
    """A command with an example."""


MEANT = {
    **dict.fromkeys(("update", "change", "modify", "put"), ("edit", "patch")),
    **dict.fromkeys(("show", "describe", "info", "get"), ("get", "show")),
    **dict.fromkeys(("remove", "rm"), ("delete",)),
    **dict.fromkeys(("stop", "disable"), ("pause", "cancel")),
    **dict.fromkeys(("enable", "unpause"), ("resume",)),
    **dict.fromkeys(("trigger", "start"), ("run",)),
    **dict.fromkeys(("retry", "replay"), ("redrive",)),
    "ls": ("list",),
    "logs": ("tail", "show"),
}
"""The names of commands, by the names that other programs use."""


class Group(_WithExample, click.Group):
    """A group with an example. For an unknown name, such as a mistyped command or another program's name for it, it
    suggests the nearest commands.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names. Raises click.UsageError."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            known = self.list_commands(ctx)
            found = [each for each in MEANT.get(name, ()) if each in known] or get_close_matches(name, known)
            near = " or ".join(map(repr, found))
            remedy = f"did you mean {near}?" if near else f"see {ctx.command_path} --help"
            raise UsageError(plain(f"no such command {name!r}; {remedy}"))
        return super().resolve_command(ctx, args)
