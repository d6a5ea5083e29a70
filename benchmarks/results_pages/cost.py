"""The page of `benchmarks.cost`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.results_pages.generic import nested, rows
from benchmarks.results_pages.markdown import bullets, table, title


def page(document: Mapping[str, Any]) -> list[str]:
    """Return the idle month, a million firings in comparison with other schedulers, and the prices with
    their sources.
    """
    lines: list[str] = []
    for name, items in document["idle_month"].items():
        lines += [f"**an idle month, {title(name)}**", "", *_dollars(items)]
    lines += ["**the total by shards**", "", *_dollars(document.get("idle_by_shards", {}))]
    lines += ["**on top where it is switched on, a month**", "", *_dollars(document["idle_apart"])]
    lines += ["What would make the month cheaper:", "", *bullets(document["idle_remedies"])]
    bare = document.get("per_million_without_logs_traces_and_records", {})
    million = [
        [title(name), f"{value:,.2f}", f"{bare[name]:,.2f}" if name in bare else None]
        for name, value in document["per_million"].items()
    ]
    lines += ["**a million firings**", "", *table(["", "USD", "without logs, traces, records"], million)]
    if alone := document.get("per_million_one_by_one"):
        lines += ["**a million firings that come one by one**", "", *_dollars(alone)]
    ours = {name: items for name, items in document["per_million_items"].items() if name.startswith("duecourse")}
    lines += ["**of which, USD**", "", *rows(ours)]
    if spread := document.get("months_of_firings"):
        lines += ["**a month of firings, evenly over its minutes, with the idle cost, USD**", "", *rows(spread)]
    lines += ["**break-even with a price by the job**", "", *nested(document["break_even"])]
    lines += ["**assumptions**", "", *nested(document["assumptions"])]
    prices = document["price_table"]
    lines += [f"**prices of {prices['date']}, {prices['region']}, free tiers {prices['free_tiers']}**", ""]
    lines += table(
        ["unit", "USD", "for", "source", "standing"],
        [
            [
                price["unit"],
                f"{price['dollars']:.10f}".rstrip("0").rstrip("."),
                price["per"],
                price["source"],
                price["standing"],
            ]
            for price in prices["prices"].values()
        ],
    )
    return lines + bullets(document["notes"])


def _dollars(items: Mapping[str, float]) -> list[str]:
    return table(["", "USD"], [[title(name), f"{value:,.2f}"] for name, value in items.items()])
