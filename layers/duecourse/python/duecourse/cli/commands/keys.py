"""`duecourse keys`: create, list and delete API keys."""

from __future__ import annotations

from collections.abc import Sequence

import click

from duecourse.cli.commands.options import api_options, confirm, connected, named_options, yes_option
from duecourse.cli.fields import number_option
from duecourse.cli.output.documents import CreatedKey
from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, Group, plain, say
from duecourse.client.models import Key


@click.group(cls=Group, example="duecourse keys create --scope run:report --description GitHub")
def keys() -> None:
    """Create, list and delete API keys, with which systems without a login start runs or call the API."""


@keys.command(cls=Command, example="duecourse keys create --scope jobs:read --tag team-a --days 365")
@click.option(
    "--scope",
    required=True,
    multiple=True,
    metavar="SCOPE",
    help="run:JOB for the job that the key can run; or jobs:read or jobs:write, repeatable.",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Limit the scopes to jobs with a tag; repeatable.")
@click.option("--description", metavar="TEXT", help="The purpose of the key.")
@number_option("--days", "KeyRequest", "expires_in_days", "Expire after this many days.", "DAYS")
@number_option("--per-minute", "KeyRequest", "requests_per_minute", "Allow this many requests per minute.", "N")
@number_option("--debounce", "KeyRequest", "debounce_seconds", metavar="SECONDS")
@click.option(
    "--debounce-key", metavar="TEMPLATE", help="Debounce only requests with the same value: {{payload.branch}}."
)
@click.option(
    "--deduplicate-key", metavar="TEMPLATE", help="Requests with the same value start one run: {{payload.order}}."
)
@click.option("--signed", is_flag=True, help="Require signatures, and print the secret after the URL.")
@click.option(
    "--event", "events", multiple=True, metavar="EVENT", help="Only for this GitHub event, such as push; repeatable."
)
@named_options
def create(
    scope: tuple[str, ...],
    tags: tuple[str, ...],
    description: str | None,
    days: int | None,
    per_minute: int | None,
    debounce: int | None,
    debounce_key: str | None,
    deduplicate_key: str | None,
    signed: bool,
    events: tuple[str, ...],
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Create a key, and print its trigger URL; with jobs:read or jobs:write, print the key. It cannot be shown again.

    Commands use the key in DUECOURSE_API_KEY instead of a token.
    """
    permitted = " ".join(f"{each}:tag={tag}" for each in scope for tag in tags) or " ".join(scope)
    with connected(api, sign) as client:
        made = client.create_key(
            permitted,
            description=description,
            expires_in_days=days,
            requests_per_minute=per_minute,
            debounce_seconds=debounce,
            debounce_key=debounce_key,
            deduplicate_key=deduplicate_key,
            signed=signed or None,
            events=list(events) or None,
        )
        url = f"{client.api}{made.path}"
    if as_json:
        print_json(made, CreatedKey(url=url))
        return
    ends = f"{made.expires_at:%Y-%m-%d}"
    runs = made.scope.startswith("run:")
    shown = "it" if not runs else "this URL" if made.secret is None else "this URL and the secret"
    permits = f"can run {made.scope.removeprefix('run:')}" if runs else f"has {made.scope}"
    click.echo(plain(f"key {made.id} {permits} until {ends}; {shown} cannot be shown again:"), err=True)
    click.echo(plain(url if runs else made.key))
    if made.secret is not None:
        click.echo(plain(made.secret))


@keys.command("list", cls=Command, example="duecourse keys list")
@named_options
def list_keys(api: str | None, sign: bool | None, as_json: bool) -> None:
    """List the keys, newest first."""
    with connected(api, sign) as client:
        found = client.list_keys()
    if as_json:
        print_json(found)
        return
    _print_keys(found.items)


def _print_keys(found: Sequence[Key]) -> None:
    rows = [(each.id, each.scope, f"{each.expires_at:%Y-%m-%d}", each.last_used_at, each.description) for each in found]
    print_table(("key", "scope", "expires", "last used", "description"), rows)


@keys.command(cls=Command, example="duecourse keys delete 3f1c9a7be04d5528")
@click.argument("key_id", metavar="KEY")
@yes_option
@api_options
def delete(key_id: str, yes: bool, api: str | None, sign: bool | None) -> None:
    """Revoke a key, so that it is no longer valid. KEY is its id."""
    with connected(api, sign) as client:
        if not yes:
            confirm(plain(f"Revoke the key {key_id}? The API rejects all further requests with it."))
        client.delete_key(key_id)
    say(plain(f"the key {key_id} is revoked"))
