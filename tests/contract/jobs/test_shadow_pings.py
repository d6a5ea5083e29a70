"""The store of the pings of shadow jobs."""

from duecourse.domain.jobs.shadow import KEPT_DAYS, MAX_IN_HOUR, Pings, ShadowPing, hour_of
from duecourse.stores.keys import job_key
from duecourse.stores.shadow_pings import ShadowPings
from duecourse.stores.table import Table
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON
from tests.support.tables import Tables

T0 = hour_of(int(NOON))
HOUR = 3600


def store_of(tables: Tables) -> ShadowPings:
    return tables.job_store(SettableClock(NOON)).shadow_pings


def between(store: ShadowPings, begin: int, end: int, tenant: str = "default", since: int | None = None) -> Pings:
    return store.between(tenant, "nightly", begin, end, since=begin if since is None else since)


def test_shadow_pings_are_read_in_the_order_of_their_positions(any_tables: Tables) -> None:
    store = store_of(any_tables)
    positions = [T0 + 2 * HOUR, T0, T0 + HOUR - 1, T0 + 5]
    for position in positions:
        ping = ShadowPing(position, position + 2)
        assert store.put("default", "nightly", ping) == ping
    found = between(store, T0, T0 + 3 * HOUR)
    assert found == Pings(tuple(ShadowPing(each, each + 2) for each in sorted(positions)))
    assert [each.position for each in between(store, T0 + 1, T0 + HOUR).all] == [T0 + 5, T0 + HOUR - 1]
    assert between(store, T0, T0 + 3 * HOUR, tenant="other") == Pings()


def test_shadow_ping_for_the_same_second_keeps_the_first_arrival(any_tables: Tables) -> None:
    store = store_of(any_tables)
    first = ShadowPing(T0, T0 + 2)
    store.put("default", "nightly", first)
    assert store.put("default", "nightly", ShadowPing(T0, T0 + 9)) == first
    assert between(store, T0, T0 + HOUR).all == (first,)


def test_shadow_pings_before_the_period_are_noticed(any_tables: Tables) -> None:
    store = store_of(any_tables)
    store.put("default", "nightly", ShadowPing(T0, T0))
    assert between(store, T0 + HOUR, T0 + 2 * HOUR, since=T0).earlier
    assert not between(store, T0 + 2 * HOUR, T0 + 3 * HOUR, since=T0 + HOUR).earlier


def test_shadow_pings_before_the_period_are_noticed_in_the_hour_of_its_begin(any_tables: Tables) -> None:
    store = store_of(any_tables)
    begin, since = T0 + 1800, T0 + 60
    assert not between(store, begin, begin + HOUR, since=since).earlier
    store.put("default", "nightly", ShadowPing(since - 1, since - 1))
    store.put("default", "nightly", ShadowPing(begin, begin))
    assert not between(store, begin, begin + HOUR, since=since).earlier
    store.put("default", "nightly", ShadowPing(since, since))
    assert between(store, begin, begin + HOUR, since=since).earlier


def test_shadow_pings_from_before_the_last_change_do_not_count(any_tables: Tables) -> None:
    store = store_of(any_tables)
    since = T0 + 600
    store.put("default", "nightly", ShadowPing(since - 1, since - 1))
    assert between(store, since - 119, since + HOUR, since=since) == Pings()
    assert not between(store, T0 + 5 * HOUR, T0 + 6 * HOUR, since=since).earlier
    store.put("default", "nightly", ShadowPing(since, since))
    assert between(store, since - 119, since + HOUR, since=since) == Pings((ShadowPing(since, since),))
    assert between(store, T0 + 5 * HOUR, T0 + 6 * HOUR, since=since).earlier


def test_shadow_pings_expire_and_are_limited_in_each_hour(any_tables: Tables) -> None:
    store = store_of(any_tables)
    for second in range(MAX_IN_HOUR):
        assert store.put("default", "nightly", ShadowPing(T0 + second, T0)) is not None
    assert store.put("default", "nightly", ShadowPing(T0 + MAX_IN_HOUR, T0)) is None
    assert store.put("default", "nightly", ShadowPing(T0 + 7, T0)) == ShadowPing(T0 + 7, T0)
    assert store.put("default", "nightly", ShadowPing(T0 + HOUR, T0)) is not None
    assert between(store, T0, T0 + 2 * HOUR).full == {T0}
    item = any_tables.both().get(Table.JOBS, job_key("default", "nightly", f"SHADOW#{T0:010}"))
    assert item is not None
    assert int(item["expires_at"]["N"]) == T0 + (KEPT_DAYS + 1) * 86_400
