"""`duecourse completion`: the script with which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from duecourse.cli.terminal import Command


@click.command(cls=Command, example="duecourse completion bash > ~/.local/share/bash-completion/completions/duecourse")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell. The location of the script depends on the shell (the example is for
    bash).
    """
    from duecourse.cli.main import main

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click has one for each choice
    click.echo(kind(main, {}, "duecourse", "_DUECOURSE_COMPLETE").source())
