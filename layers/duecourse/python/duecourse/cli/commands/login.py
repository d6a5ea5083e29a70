"""`duecourse login` and `logout`: get a token of the profile's issuer and store it until it is renewed.

The login uses the device flow (RFC 8628) if the issuer supports it, or else a browser with PKCE (RFC 7636, RFC 8252). A
Cognito user pool of the stack requires a name and a password.
"""

from __future__ import annotations

import os
import time
import webbrowser
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import click
import httpx

from duecourse.cli.commands.options import prompting
from duecourse.cli.terminal import CliError, Command, UsageError, plain, say
from duecourse.client.access import KEY, TOKEN, Access, access
from duecourse.client.calls import NotSentError, check_encrypted
from duecourse.client.login import DISCOVERY, Issuer, TokenFile, Tokens, cognito_request, cognito_tokens

SCOPE = "openid offline_access"
BROWSER_SECONDS = 300.0
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
PAGE = b"<!doctype html><title>Duecourse</title><p>You are logged in. You may close this page."


@click.command(cls=Command, example="duecourse login prod")
@click.argument("profile", required=False)
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
def login(profile: str | None, no_browser: bool) -> None:
    """Log in at the issuer of a profile (default: the default profile). The token is stored and renewed
    automatically.
    """
    found, issuer, kept = _of(profile)
    try:
        with httpx.Client(timeout=30) as http:
            tokens = _by_password(http, issuer) if issuer.is_cognito else _by_oidc(http, issuer, not no_browser)
    except httpx.HTTPError as error:
        raise CliError(plain(f"{issuer.url} cannot be reached ({error})")) from error
    kept.write(tokens)
    say(f"logged in to {found.api} as {found.profile}")


@click.command(cls=Command, example="duecourse logout prod")
@click.argument("profile", required=False)
def logout(profile: str | None) -> None:
    """Delete the token of a profile."""
    found, _, kept = _of(profile)
    say(f"logged out of {found.profile}" if kept.remove() else f"there was no login to {found.profile}")


def _of(profile: str | None) -> tuple[Access, Issuer, TokenFile]:
    try:
        found = access(profile, {name: value for name, value in os.environ.items() if name not in (TOKEN, KEY)})
    except ValueError as error:
        raise UsageError(plain(str(error))) from error
    if found.issuer is None or found.profile is None:
        named = f"API {found.api}" if found.profile is None else f"profile {found.profile}"
        raise UsageError(plain(f"{named} has no issuer and client_id; add them with duecourse profile add"))
    return found, found.issuer, TokenFile.of(found.profile)


def _by_oidc(http: httpx.Client, issuer: Issuer, browser: bool) -> Tokens:
    known = _answer(http.get(issuer.url.rstrip("/") + DISCOVERY))
    for name in {"device_authorization_endpoint", "token_endpoint"} & known.keys():
        try:
            check_encrypted(str(known[name]), "the login")
        except NotSentError as error:
            raise CliError(plain(str(error))) from error
    if "device_authorization_endpoint" in known:
        return _by_device(http, issuer, known)
    return _by_browser(http, issuer, known, browser)


def _by_device(http: httpx.Client, issuer: Issuer, known: Mapping[str, Any]) -> Tokens:
    """Log in with the device flow: the person enters a code on any machine while this function polls the issuer."""
    form = issuer.form(scope=issuer.scope or SCOPE, audience=issuer.audience)
    asked = _answer(http.post(known["device_authorization_endpoint"], data=form))
    say(f"open {asked.get('verification_uri_complete') or asked['verification_uri']} and enter {asked['user_code']}")
    every, ends = float(asked.get("interval", 5)), time.monotonic() + float(asked.get("expires_in", 600))
    while time.monotonic() < ends:
        time.sleep(every)
        form = issuer.form(grant_type=DEVICE_GRANT, device_code=str(asked["device_code"]))
        said = http.post(known["token_endpoint"], data=form)
        error = said.json().get("error") if said.status_code == httpx.codes.BAD_REQUEST else None
        if error == "slow_down":
            every += 5
        elif error != "authorization_pending":
            return Tokens.of(_answer(said), time.time())
    raise CliError("the code was not entered in time; run the command again")


def _by_browser(http: httpx.Client, issuer: Issuer, known: Mapping[str, Any], browser: bool) -> Tokens:
    """Log in with the browser. It is redirected to a port of this machine with a code, which is valid only with the
    verifier.
    """
    verifier, state = token_urlsafe(48), token_urlsafe(16)
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    with _Return(("127.0.0.1", 0), _Handler) as server:
        redirect = f"http://127.0.0.1:{server.server_port}/callback"
        query = issuer.form(
            response_type="code",
            redirect_uri=redirect,
            scope=issuer.scope or SCOPE,
            audience=issuer.audience,
            state=state,
            code_challenge=challenge,
            code_challenge_method="S256",
        )
        address = f"{known['authorization_endpoint']}?{urlencode(query)}"
        if not browser or not webbrowser.open(address):
            say(f"open {address}")
        code = server.code(state)
    form = issuer.form(grant_type="authorization_code", code=code, redirect_uri=redirect, code_verifier=verifier)
    return Tokens.of(_answer(http.post(known["token_endpoint"], data=form)), time.time())


class _Return(HTTPServer):
    """The local server to which the issuer redirects the browser after the login."""

    came: Mapping[str, list[str]] | None = None

    def code(self, state: str) -> str:
        """Return the code of the issuer's redirect. Raises CliError if there is none, or after the timeout."""
        ends = time.monotonic() + BROWSER_SECONDS
        while self.came is None and (left := ends - time.monotonic()) > 0:
            self.timeout = left
            self.handle_request()
        came = self.came or {}
        if came.get("state") != [state] or "code" not in came:
            why = (came.get("error_description") or came.get("error") or ["the browser did not return a login"])[0]
            raise CliError(plain(f"not logged in: {why}"))
        return came["code"][0]


class _Handler(BaseHTTPRequestHandler):
    server: _Return

    def do_GET(self) -> None:
        """Handle the redirect. Other requests of the browser (an icon) receive 404."""
        asked = urlsplit(self.path)
        if asked.path != "/callback":
            self.send_error(404)
            return
        self.server.came = parse_qs(asked.query)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class defines the name
        """Print nothing: the path contains the code."""


def _by_password(http: httpx.Client, issuer: Issuer) -> Tokens:
    """Log in as a user of the stack's user pool."""
    with prompting("there was no user or no password; log in at a terminal, or set DUECOURSE_TOKEN"):
        parameters = {
            "USERNAME": click.prompt("user", err=True),
            "PASSWORD": click.prompt("password", hide_input=True, err=True),
        }
    said = _answer(http.send(cognito_request(issuer, "USER_PASSWORD_AUTH", parameters)))
    if "AuthenticationResult" not in said:
        asked = said.get("ChallengeName")
        raise CliError(
            plain(f"the user pool requires the challenge {asked}; set a permanent password (docs/api.md, users)")
        )
    return cognito_tokens(said["AuthenticationResult"], time.time())


def _answer(said: httpx.Response) -> Mapping[str, Any]:
    """Return the document of a response. Raises CliError for an error or an invalid document."""
    try:
        document = said.json()
    except ValueError:
        document = None
    if not said.is_success or not isinstance(document, dict):
        told = document if isinstance(document, dict) else {}
        why = told.get("error_description") or told.get("error") or told.get("message") or said.text[:200]
        raise CliError(plain(f"the issuer responded with {said.status_code}: {why}"))
    return document
