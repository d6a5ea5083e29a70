import time

from duecourse.adapters.system import SystemClock, SystemRandomness


def test_clock_returns_the_current_time():
    before, shown = time.time(), SystemClock().now()
    assert before <= shown <= time.time()


def test_clock_sleep_ends_at_its_instant_and_never_earlier():
    clock = SystemClock()
    until = clock.now() + 0.05
    clock.sleep_until(until)
    assert until <= clock.now()


def test_clock_sleep_until_a_past_instant_returns_immediately():
    before = time.monotonic()
    SystemClock().sleep_until(time.time() - 3600)
    assert time.monotonic() - before < 3600


def test_clock_randomness_draws_between_0_and_1_and_nonces_are_unique():
    randomness = SystemRandomness()
    assert all(0 <= randomness.draw() < 1 for _ in range(1_000))
    nonces = {randomness.nonce() for _ in range(1_000)}
    assert len(nonces) == 1_000
    assert all(len(nonce) == 16 for nonce in nonces)
