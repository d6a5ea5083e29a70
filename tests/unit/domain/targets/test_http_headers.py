import pytest

from duecourse.domain.targets.http import header_problem, is_reserved_header


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "X-Duecourse-Anything"])
def test_headers_of_the_connection_and_of_the_run_are_not_the_jobs(name):
    assert is_reserved_header(name)


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "X-Api-Key", "User-Agent", "Accept"])
def test_headers_of_other_names_are_not_reserved(name):
    assert not is_reserved_header(name)


@pytest.mark.parametrize(
    ("name", "value"), [("X", "a\r\nHost: b"), ("X", "\x00"), ("X", "€"), ("X: y", "z"), ("", "z")]
)
def test_a_header_cannot_carry_another_one(name, value):
    problem = header_problem(name, value)
    assert problem is not None
    assert value not in problem or value == "z"


def test_an_ordinary_header_has_no_problem():
    assert header_problem("Authorization", "Bearer ü.~\t") is None
