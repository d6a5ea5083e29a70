"""`duecourse login` and `profile`, with an issuer on this machine."""

import json
import re
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from click.testing import CliRunner, Result

from duecourse.cli.main import main
from duecourse.client.access import profiles
from tests.support.http_target import Seen, documents, http_target


class Issuer:
    """Knows the device flow, or a browser with PKCE."""

    def __init__(self, device: bool) -> None:
        self.device = device
        self.pending = 1
        self.forms: list[dict[str, str]] = []
        self.url = ""

    def answer(self, asked: Seen) -> tuple[int, object]:
        path = asked.route
        form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        if path == "/.well-known/openid-configuration":
            known = {name: f"{self.url}/{name}" for name in ("authorization_endpoint", "token_endpoint")}
            device = {"device_authorization_endpoint": f"{self.url}/device"} if self.device else {}
            return 200, known | device
        if path == "/device":
            return 200, {"device_code": "d", "user_code": "WXYZ", "verification_uri": "https://go", "interval": 0}
        self.forms.append(form)
        if self.pending and self.device:
            self.pending -= 1
            return 400, {"error": "authorization_pending"}
        return 200, {"access_token": "token", "refresh_token": "again", "expires_in": 600}


@contextmanager
def issuing(*, device: bool) -> Iterator[Issuer]:
    issuer = Issuer(device)
    with http_target(documents(issuer.answer)) as server:
        issuer.url = server.url("")
        yield issuer


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state"), "NO_PROXY": "*"}


def duecourse(home: dict[str, str], *words: str) -> Result:
    return CliRunner(env=home).invoke(main, words)


def add(home: dict[str, str], issuer: Issuer) -> None:
    added = duecourse(
        home, "profile", "add", "prod", "--api", "https://api", "--issuer", issuer.url, "--client-id", "cli"
    )
    assert added.exit_code == 0, added.output


def kept(home: dict[str, str]) -> Any:
    return json.loads((Path(home["XDG_STATE_HOME"]) / "duecourse" / "tokens" / "prod.json").read_text())


def test_login_command_polls_until_the_device_code_was_entered(home: dict[str, str]) -> None:
    with issuing(device=True) as issuer:
        add(home, issuer)
        done = duecourse(home, "login")
    assert done.exit_code == 0, done.output
    assert "open https://go and enter WXYZ" in done.stdout
    assert "logged in to https://api as prod" in done.stdout
    assert [form["device_code"] for form in issuer.forms] == ["d", "d"]
    assert (kept(home)["access_token"], kept(home)["refresh_token"]) == ("token", "again")
    assert "logged out of prod" in duecourse(home, "logout").stdout
    assert "there was no login" in duecourse(home, "logout").stdout


def test_login_command_browser_returns_a_code_that_only_this_command_can_use(home: dict[str, str]) -> None:
    """In a process of its own, as the command waits for the browser, which is this test."""
    import os

    with issuing(device=False) as issuer:
        add(home, issuer)
        program = "from duecourse.cli.main import main; main(['login', 'prod', '--no-browser'])"
        command = [sys.executable, "-u", "-c", program]
        with subprocess.Popen(command, env=os.environ | home, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            found = re.search(r"open (\S+)", process.stdout.readline())
            assert found is not None
            query = {name: values[0] for name, values in parse_qs(urlsplit(found[1]).query).items()}
            with httpx.Client(trust_env=False) as browser:
                assert browser.get(query["redirect_uri"].replace("/callback", "/favicon.ico")).status_code == 404
                back = browser.get(query["redirect_uri"], params={"code": "c", "state": query["state"]})
            assert "You are logged in" in back.text
            assert "logged in to https://api as prod" in process.stdout.read()
    (form,) = issuer.forms
    assert form["code"] == "c"
    digest = sha256(form["code_verifier"].encode()).digest()
    assert query["code_challenge"] == urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert kept(home)["access_token"] == "token"


def test_login_command_written_profile_is_read_back(home: dict[str, str]) -> None:
    folder = Path(home["XDG_CONFIG_HOME"], "duecourse")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "profiles.toml").write_text('["é \\" x"]\napi = "https://own"\n', encoding="utf-8")
    texts = {"api": 'https://😀/"\\', "scope": "a\x7fb\tc\n\u2028"}
    assert duecourse(home, "profile", "add", "prod", "--api", texts["api"], "--scope", texts["scope"]).exit_code == 0
    assert profiles(home) == {"default": "prod", 'é " x': {"api": "https://own"}, "prod": texts}


def test_login_command_lists_selects_and_removes_profiles(home: dict[str, str]) -> None:
    for name in ("prod", "staging"):
        assert duecourse(home, "profile", "add", name, "--api", f"https://{name}").exit_code == 0
    assert duecourse(home, "profile", "use", "staging").exit_code == 0
    listed = json.loads(duecourse(home, "profile", "list", "--json").stdout)
    assert [item["name"] for item in listed["items"]] == ["prod", "staging"]
    assert listed["default"] == "staging"
    assert duecourse(home, "profile", "remove", "staging").exit_code == 0
    assert json.loads(duecourse(home, "profile", "list", "--json").stdout)["default"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("login",), "no API address"),
        (("login", "prod"), "no profile prod"),
        (("profile", "use", "prod"), "there is no profile prod; list the profiles with duecourse profile list"),
        (("profile", "add", "a b", "--api", "x"), "the name of a profile must have"),
        (
            ("profile", "add", "é", "--api", "x"),
            "the name of a profile must have only letters (A-Z, a-z), digits, - and _",
        ),
        (
            ("profile", "add", "٣", "--api", "x"),
            "the name of a profile must have only letters (A-Z, a-z), digits, - and _",
        ),
        (("profile", "add", "a", "--api", "x\udcff"), "a profile's values must be UTF-8"),
        (("profile", "add", "a", "--api", "x", "--issuer", "y"), "--issuer and --client-id must be set together"),
    ],
)
def test_login_command_reports_invalid_input_on_one_line(
    home: dict[str, str], words: tuple[str, ...], said: str
) -> None:
    refused = duecourse(home, *words)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_login_command_of_a_user_pool_without_a_terminal_names_the_remedy(home: dict[str, str]) -> None:
    issuer = Issuer(device=False)
    issuer.url = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_x"
    add(home, issuer)
    done = duecourse(home, "login")
    assert done.exit_code == 2
    assert "log in at a terminal, or set DUECOURSE_TOKEN" in done.stderr
