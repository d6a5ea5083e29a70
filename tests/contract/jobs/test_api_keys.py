"""Stores of API keys."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.api_keys import ApiKey, key_text
from duecourse.stores.api_keys import ApiKeyStore
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON
from tests.support.tables import Tables

VALID_UNTIL = int(NOON) + DAY_SECONDS


def made(name: str, tenant: str = "default") -> ApiKey:
    text = key_text(tenant, name * 32)
    return ApiKey(tenant, text.id, text.hash, "report", 1, "GitHub", NOON, "ann", VALID_UNTIL)


def store_of(tables: Tables) -> ApiKeyStore:
    return tables.job_store(SettableClock(NOON)).api_keys


def test_api_keys_key_comes_back_as_it_was_written(any_tables: Tables) -> None:
    store = store_of(any_tables)
    plain, full = made("a"), replace(made("b"), debounce_seconds=60, debounce_key="{{payload.a}}", last_used_at=NOON)
    full = replace(full, salt="salt", request="digest digest", events=frozenset({"push"}))
    scoped = replace(made("c"), job_id="jobs:read", job_generation=0, scopes=frozenset({"jobs:read", "jobs:write"}))
    assert store.all("default") == type(store.all("default"))([], 0)
    assert store.add(plain, 0)
    assert store.add(full, 1)
    assert (store.get("default", plain.id), store.get("default", full.id)) == (plain, full)
    assert store.get("other", plain.id) is None
    found = store.all("default")
    assert (list(found.items), found.version) == (sorted([plain, full], key=lambda key: key.id), 2)
    assert store.all("other").version == 0
    assert store.delete("default", plain.id)
    assert not store.delete("default", plain.id)
    assert ([*store.all("default").items], store.all("default").version) == ([full], 2)
    assert store.add(scoped, 2)
    assert store.get("default", scoped.id) == scoped


def test_api_keys_key_is_added_only_if_no_other_was_added_meanwhile(any_tables: Tables) -> None:
    store = store_of(any_tables)
    assert store.add(made("a"), 0)
    assert not store.add(made("b"), 0)
    assert not store.add(made("a"), 1)
    assert store.add(made("b"), 1)
    assert store.add(made("a", "other"), 0)


def test_api_keys_key_replaces_another_one_only_if_it_is_added(any_tables: Tables) -> None:
    store = store_of(any_tables)
    assert store.add(made("a"), 0)
    assert not store.add(made("b"), 0, made("a").id)
    assert [*store.all("default").items] == [made("a")]
    assert store.add(made("b"), 1, made("a").id)
    assert ([*store.all("default").items], store.all("default").version) == ([made("b")], 2)
    assert store.add(made("c"), 2, made("a").id)


def test_api_keys_last_use_is_written_once_and_never_revives_a_key(any_tables: Tables) -> None:
    store, key = store_of(any_tables), made("a")
    assert store.add(key, 0)
    store.note_use(key, NOON + 1)
    store.note_use(key, NOON + 2)
    used = store.get("default", key.id)
    assert used == replace(key, last_used_at=NOON + 1)
    store.note_use(used, NOON + 3)
    assert store.get("default", key.id) == replace(key, last_used_at=NOON + 3)
    assert store.delete("default", key.id)
    store.note_use(replace(key, last_used_at=NOON + 3), NOON + 4)
    store.note_use(key, NOON + 4)
    assert store.get("default", key.id) is None
