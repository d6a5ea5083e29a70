"""Which targets a job may have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.bodies.target_bodies import name_problem, url_problem
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS, name_refusal
from duecourse.settings import AllowedTargets


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/hook?a=b&c=%20",
        "https://EXAMPLE.com:8443/a/b;c=d",
        "https://example.com./",
        "https://xn--mnchen-3ya.example/",
        "https://8.8.8.8/x",
        "https://[2606:4700:4700::1111]:443/x",
        "https://a_b.example.com/",
    ],
)
def test_a_public_https_address_is_fine(url: str) -> None:
    assert url_problem(url, private_allowed=False) is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.com/", "must begin with https://"),
        ("ftp://example.com/", "must begin with https://"),
        ("HTTP://example.com/", "must begin with https://"),
        ("//example.com/", "must begin with https://"),
        ("example.com", "must begin with https://"),
        ("https:/example.com", "no valid host"),
        ("https://", "no valid host"),
        ("https:///path", "no valid host"),
        ("https://user:secret@example.com/", "credentials"),
        ("https://user@example.com/", "credentials"),
        ("https://example.com/#part", "fragment"),
        ("https://example.com/#", "fragment"),
        ("https://example.com:0/", "port"),
        ("https://example.com:/", "port"),
        ("https://example.com:65536/", "port"),
        ("https://example.com:8x/", "port"),
        ("https://example.com:-1/", "port"),
        ("https://[::1/", "host"),
        ("https://[fe80::1%25eth0]/", "not (link-local)"),
        ("https://a..b/", "no valid host name"),
        ("https://-a.example/", "no valid host name"),
        ("https://" + "a" * 64 + ".example/", "no valid host name"),
        ("https://" + "a." * 130 + "example/", "no valid host name"),
        ("https://exa mple.com/", "printable ASCII"),
        ("https://münchen.example/", "punycode"),
        ("https://example.com/\r\nHost: x", "printable ASCII"),
        ("https://example.com/\x00", "printable ASCII"),
        ("https://example.com\\@evil.example/", "percent-encoded"),
        ("https://exa{mple}.com/", "percent-encoded"),
        ("https://127.0.0.1/", "not (loopback)"),
        ("https://10.1.2.3/", "private network"),
        ("https://169.254.169.254/latest/meta-data", "cloud metadata"),
        ("https://[::1]/", "loopback"),
        ("https://[::ffff:127.0.0.1]/", "loopback"),
        ("https://[fd00:ec2::254]/", "cloud metadata"),
        ("https://[fe80::1]/", "link-local"),
        ("https://0.0.0.0/", "this network"),
        ("https://localhost/", "this machine"),
        ("https://api.LOCALHOST./", "this machine"),
        ("https://2130706433/", "neither a name nor an IP address"),
        ("https://0x7f000001/", "neither a name nor an IP address"),
        ("https://127.1/", "neither a name nor an IP address"),
        ("https://0177.0.0.1/", "neither a name nor an IP address"),
        ("https://127.0.0.1./", "neither a name nor an IP address"),
        ("https://example.0x7f/", "neither a name nor an IP address"),
    ],
)
def test_another_address_is_refused_with_the_reason(url: str, said: str) -> None:
    problem = url_problem(url, private_allowed=False)
    assert problem is not None
    assert said in problem


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/hook", "http://localhost/", "https://10.0.0.1/", "http://[::1]:9/", "http://intern/"]
)
def test_a_stage_that_allows_private_targets_takes_http_and_loopback(url: str) -> None:
    assert url_problem(url, private_allowed=True) is None


@pytest.mark.parametrize("url", ["http://2130706433/", "http://127.1/", "gopher://x/", "http://u@x/"])
def test_even_there_odd_addresses_are_refused(url: str) -> None:
    assert url_problem(url, private_allowed=True) is not None


@given(st.text(max_size=60).map(lambda text: f"https://{text}"), st.booleans())
def test_any_text_is_judged(url: str, private: bool) -> None:
    problem = url_problem(url, private_allowed=private)
    assert problem is None or problem


def allowed(*names: str) -> AllowedTargets:
    return AllowedTargets(functions=names)


def test_a_name_must_match_a_pattern_of_the_stage() -> None:
    assert name_problem("functions", "duecourse-target-echo", allowed("other", "duecourse-target-*")) is None


@pytest.mark.parametrize(
    ("name", "patterns", "said"),
    [
        ("billing", ("duecourse-target-*", "x"), "duecourse-target-*, x"),
        ("billing", (), "allowed_targets.functions is empty"),
        ("DUECOURSE-target-x", ("duecourse-target-*",), "not allowed"),
        ("arn:aws:lambda:us-east-1:123456789012:function:x", ("*",), "no ARN"),
        ("x:PROD", ("*",), "no ARN"),
        ("", ("*",), "1 to 64"),
        ("a" * 65, ("*",), "1 to 64"),
        ("a\n", ("*",), "1 to 64"),
    ],
)
def test_another_name_is_refused_with_the_reason(name: str, patterns: tuple[str, ...], said: str) -> None:
    problem = name_problem("functions", name, allowed(*patterns))
    assert problem is not None
    assert said in problem


@pytest.mark.parametrize("kind", [kind for kind, known in ALLOW_LISTS.items() if known.form])
def test_a_stage_that_allows_nothing_says_so_of_every_kind(kind: str) -> None:
    problem = name_problem(kind, "duecourse-target-x", AllowedTargets())
    assert problem is not None
    assert f"allowed_targets.{kind} is empty" in problem


def test_an_action_is_allowed_by_name_and_no_pattern() -> None:
    stage = AllowedTargets(actions=("ecs:UpdateService", "s3:*"))
    assert name_refusal("actions", "ecs:UpdateService", stage) is None
    assert "which calls ecs:UpdateService" in (name_refusal("actions", "s3:PutObject", stage) or "")
    assert "actions is empty" in (name_refusal("actions", "ecs:UpdateService", AllowedTargets()) or "")
