"""A kept local stack finds its ports again, or says in one line why it cannot."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from duecourse.cli.local.emulator.environment import free_port, is_taken
from duecourse.cli.local.settings import Settings, choose, locked
from duecourse.cli.terminal import CliError, UsageError


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_settings_are_the_same_after_a_restart(tmp_path: Path) -> None:
    assert Settings.read(tmp_path) is None
    Settings(4599, 4600).write(tmp_path)

    assert Settings.read(tmp_path) == Settings(4599, 4600)


def test_unreadable_settings_are_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{}")

    with pytest.raises(CliError, match=r"settings\.json is not readable .* --fresh"):
        Settings.read(tmp_path)


def test_a_port_in_use_is_known_to_be_taken(taken: int) -> None:
    assert is_taken(taken)
    assert not is_taken(free_port())


def test_a_first_start_takes_the_wanted_port_or_a_free_one() -> None:
    port = free_port()

    assert choose(None, port).port == port
    assert not is_taken(choose(None, None).port)


def test_a_wanted_port_that_is_taken_is_one_clear_line_and_status_two(taken: int) -> None:
    with pytest.raises(UsageError, match=f"port {taken} is taken") as caught:
        choose(None, taken)

    assert caught.value.exit_code == 2


def test_a_kept_port_is_used_again() -> None:
    kept = Settings(free_port(), free_port())

    assert choose(kept, None) == kept
    assert choose(kept, kept.port) == kept


def test_a_kept_port_that_is_taken_is_refused(taken: int) -> None:
    with pytest.raises(UsageError, match="the kept stack needs it"):
        choose(Settings(taken, free_port()), None)


def test_another_port_than_the_kept_one_is_refused() -> None:
    with pytest.raises(UsageError, match="leave out --port"):
        choose(Settings(free_port(), free_port()), 4599)


def test_a_receiver_port_that_is_taken_is_replaced(taken: int) -> None:
    kept = Settings(free_port(), taken)
    chosen = choose(kept, None)

    assert chosen.port == kept.port
    assert chosen.receiver_port != taken


def test_two_local_stacks_cannot_share_their_data_and_the_second_is_told_where_the_first_is(tmp_path: Path) -> None:
    with locked(tmp_path) as announce:
        with pytest.raises(UsageError, match="running already: it is still starting"), locked(tmp_path):
            pass
        announce("http://127.0.0.1:4599/api")
        with pytest.raises(UsageError, match=r"running already: http://127\.0\.0\.1:4599/api"), locked(tmp_path):
            pass
    with locked(tmp_path), pytest.raises(UsageError, match="still starting"), locked(tmp_path):
        pass
