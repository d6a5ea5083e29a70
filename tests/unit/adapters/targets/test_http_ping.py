"""Pings over HTTP: a bare GET, and the same refusals as for targets."""

import pytest

from duecourse.adapters.targets.http.ping import HttpPinger
from tests.support.http_target import answering, http_target
from tests.unit.adapters.targets.conftest import StoppedClock


def test_http_ping_ping_is_a_get_without_a_body_and_without_data_of_the_job(clock: StoppedClock) -> None:
    with http_target(answering(204)) as server:
        assert HttpPinger(clock, private=True).ping(server.url("/ping/3f1c?x=1"), 5) is None
    (seen,) = server.seen
    assert (seen.method, seen.path, seen.body) == ("GET", "/ping/3f1c?x=1", b"")
    assert {name.lower() for name in seen.headers} <= {"host", "connection", "accept-encoding", "user-agent"}


@pytest.mark.parametrize("status", [302, 404, 500])
def test_http_ping_another_status_than_2xx_is_a_problem(clock: StoppedClock, status: int) -> None:
    with http_target(answering(status)) as server:
        found = HttpPinger(clock, private=True).ping(server.url("/"), 5)
    assert found == f"the response has the status {status}"
    assert len(server.seen) == 1, "redirects are not followed"


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]"])
def test_http_ping_private_addresses_are_refused_as_for_targets(clock: StoppedClock, host: str) -> None:
    found = HttpPinger(clock, private=False).ping(f"https://{host}/", 5)
    assert found is not None
    assert any(word in found for word in ("loopback", "private network", "cloud metadata")), found


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "ftp://example.com/", "https://exa mple.com/"])
def test_http_ping_what_cannot_be_requested_is_a_problem_and_raises_nothing(clock: StoppedClock, url: str) -> None:
    assert HttpPinger(clock, private=True).ping(url, 1)
