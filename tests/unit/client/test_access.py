"""Which API a client calls, and as whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from duecourse.client.access import Access, access

PROFILES = """\
default = "prod"

[prod]
api = "https://prod.example.com"

[staging]
api = "https://staging.example.com"
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "duecourse").mkdir()
    (tmp_path / "duecourse" / "profiles.toml").write_text(PROFILES)
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def test_the_environment_comes_before_the_default_profile(home: dict[str, str]) -> None:
    assert access(environment=home) == Access("https://prod.example.com", profile="prod")
    named = home | {"DUECOURSE_API": "https://other.example.com", "DUECOURSE_TOKEN": "t"}
    assert access(environment=named) == Access("https://other.example.com", "t")


def test_a_profile_that_is_asked_for_comes_before_all(home: dict[str, str]) -> None:
    named = home | {"DUECOURSE_API": "https://other.example.com"}
    assert access("staging", named).api == "https://staging.example.com"
    assert access(environment=named | {"DUECOURSE_PROFILE": "staging"}).api == "https://staging.example.com"


def test_what_is_missing_is_said(home: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no profile test with an api"):
        access("test", home)
    with pytest.raises(ValueError, match="set DUECOURSE_API, or write a profile"):
        access(environment={"XDG_CONFIG_HOME": str(tmp_path / "nowhere")})


def test_a_file_that_is_none_is_named(home: dict[str, str]) -> None:
    Path(home["XDG_CONFIG_HOME"], "duecourse", "profiles.toml").write_text("[prod")
    with pytest.raises(ValueError, match=r"profiles\.toml cannot be read"):
        access(environment=home)
