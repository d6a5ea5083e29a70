import time

from duecourse.adapters.system import SystemClock, SystemRandomness


def test_the_clock_shows_the_present():
    before, shown = time.time(), SystemClock().now()
    assert before <= shown <= time.time()


def test_a_sleep_ends_at_its_instant_and_never_before():
    clock = SystemClock()
    until = clock.now() + 0.05
    clock.sleep_until(until)
    assert until <= clock.now()


def test_an_instant_that_has_passed_is_not_waited_for():
    before = time.monotonic()
    SystemClock().sleep_until(time.time() - 3600)
    assert time.monotonic() - before < 3600


def test_draws_lie_between_0_and_1_and_nonces_differ():
    randomness = SystemRandomness()
    assert all(0 <= randomness.draw() < 1 for _ in range(1_000))
    nonces = {randomness.nonce() for _ in range(1_000)}
    assert len(nonces) == 1_000
    assert all(len(nonce) == 16 for nonce in nonces)
