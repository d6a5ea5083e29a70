"""Random cron expressions of every form, from a seeded generator: the same numbers give the same expressions."""

from datetime import datetime
from random import Random

from schedules.tests.support.schedule_oracle import MONTH_NAMES, WEEKDAY_NAMES

_WEEKDAYS = list(WEEKDAY_NAMES)
_MONTHS = list(MONTH_NAMES)


def plain(random: Random, low: int, high: int, names: list[str] | None = None) -> str:
    """One item of a plain field: ``a``, ``a-b``, ``a-b/s``, ``a/s``."""
    first = random.randint(low, high)
    last = random.randint(first, high)
    step = random.randint(1, min(7, high - low + 1))

    def spelled(value: int) -> str:
        if names and random.random() < 0.5:
            return random.choice([str.upper, str.lower, str.title])(names[value - low])
        return str(value)

    return random.choice(
        [
            spelled(first),
            spelled(first),
            f"{spelled(first)}-{spelled(last)}",
            f"{spelled(first)}-{spelled(last)}/{step}",
            f"{spelled(first)}/{step}",
        ]
    )


def plain_field(random: Random, low: int, high: int, star: float, names: list[str] | None = None) -> str:
    """A plain field; with probability ``star`` it begins with ``*``."""
    items = [plain(random, low, high, names) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    if random.random() < star:
        items[0] = random.choice(["*", "*", f"*/{random.randint(1, high - low + 1)}"])
    return ",".join(items)


def near(random: Random, value: int, low: int, high: int) -> str:
    """A field that likely names ``value`` or its neighbours, so that the interesting hour is hit."""
    a = min(max(value + random.randint(-2, 2), low), high)
    b = min(a + random.randint(0, 3), high)
    return random.choice(
        [f"{a}", f"{a}-{b}", f"{a},{b}", f"{a}/{random.randint(1, 6)}", f"{a}-{b}/{random.randint(1, 2)}"]
    )


def day_of_month(random: Random, star: float = 0.5, crontab: bool = True) -> str:
    """A day-of-month field of any form; with `crontab`, of forms that EventBridge's dialect lacks, too."""
    if random.random() < star:
        return random.choice(["*", "*", "?", "*/2", "*/3", "*/7", "*,5"])
    special = random.random()
    if special < 0.15:
        return f"{random.randint(1, 31)}W"
    if special < 0.35 and crontab:
        forms = [f"{random.randint(1, 31)}W", f"W#{random.randint(1, 23)}", f"W#-{random.randint(1, 23)}", "LW", "20"]
        return ",".join(random.sample([*forms, f"L-{random.randint(0, 30)}W"], random.choice([1, 2, 3])))
    items = [
        random.choice(["L", f"L-{random.randint(0, 30)}", "LW"]) if random.random() < 0.3 else plain(random, 1, 31)
        for _ in range(random.choice([1, 1, 2, 3]))
    ]
    return random.choice([str.upper, str.lower])(",".join(items))


def day_of_week(random: Random, star: float = 0.5) -> str:
    """A day-of-week field of any form."""
    if random.random() < star:
        return random.choice(["*", "*", "?", "*/2", "*/3", "?/2", "*,3"])
    items = []
    both = "+" if random.random() < 0.2 else ""
    for _ in range(random.choice([1, 1, 2, 3])):
        form = random.random()
        day = random.choice([*_WEEKDAYS, *"01234567"])
        if form < 0.15:
            items.append(f"{day}#{random.randint(1, 5)}")
        elif form < 0.3:
            items.append(f"{day}L")
        elif form < 0.4:
            items.append(f"{random.choice(['FRI', 'SAT', '3', 'mon'])}-SUN")
        else:
            items.append(plain(random, 0, 7, [*_WEEKDAYS, "7"]))
    return both + ",".join(items)


def around(random: Random, wall: datetime, seconds: bool = False) -> str:
    """An expression of crontab's dialect that has a fair chance to fire near a wall time."""
    minute = plain_field(random, 0, 59, 0.25)
    hour = near(random, wall.hour, 0, 23) if random.random() < 0.7 else plain_field(random, 0, 23, 0.6)
    days = random.random()
    if days < 0.5:
        fields = ["*", "*", random.choice(["*", "?"])]
    elif days < 0.7:
        fields = [near(random, wall.day, 1, 28), str(wall.month), "*"]
    else:
        fields = [day_of_month(random), plain_field(random, 1, 12, 0.8, _MONTHS), day_of_week(random)]
    second = [plain_field(random, 0, 59, 0.4)] if seconds else []
    return " ".join([*second, minute, hour, *fields])


def anything(random: Random) -> str:
    """An expression of crontab's dialect with fixed times (few a day) and any days."""
    fields = [
        str(random.randint(0, 59)),
        random.choice([str(random.randint(0, 23)), "0,12"]),
        day_of_month(random),
        plain_field(random, 1, 12, 0.6, _MONTHS),
        day_of_week(random),
    ]
    if random.random() < 0.1:
        fields = [str(random.randint(0, 59)), *fields, random.choice(["*", "2026/2", "1990-2060", "2027,2031"])]
    return " ".join(fields)


def eventbridge(random: Random) -> str:
    """An expression of EventBridge's dialect."""
    weekdays = random.random() < 0.5
    if weekdays:
        day = random.choice(
            [
                *("*", "L", "2-6", "1", "7", "FRI-SUN", "sat", "MON,WED,FRI", "1,7", "SUN-TUE"),
                *("FRI-MON", "6-2", "wed-tue", "SAT-SUN,WED"),
                f"{random.randint(1, 7)}L",
                f"{random.choice(_WEEKDAYS)}L",
                f"{random.randint(1, 7)}#{random.randint(1, 5)}",
                f"{random.choice(_WEEKDAYS)}#{random.randint(1, 5)}",
            ]
        )
        days = ["?", _months_around(random), day]
    else:
        dates = (
            _backwards(random, 1, 31)
            if random.random() < 0.2
            else day_of_month(random, 0.3, crontab=False).replace("?", "*")
        )
        days = [dates, _months_around(random), "?"]
    year = random.choice(["*", "*", "2024/2", "2025-2030", "2026,2028", "*/3"])
    minute = _backwards(random, 0, 59) if random.random() < 0.05 else str(random.randint(0, 59))
    hour = _backwards(random, 0, 23) if random.random() < 0.2 else str(random.randint(0, 23))
    return f"cron({minute} {hour} {' '.join(days)} {year})"


def _months_around(random: Random) -> str:
    """A month field of EventBridge's dialect, now and then one that passes the end of the year."""
    return _backwards(random, 1, 12, _MONTHS) if random.random() < 0.2 else plain_field(random, 1, 12, 0.7, _MONTHS)


def _backwards(random: Random, low: int, high: int, names: list[str] | None = None) -> str:
    """A range that runs backwards, with or without a step."""
    last, first = sorted(random.sample(range(low, high + 1), 2))
    text = "-".join(names[value - low] if names and random.random() < 0.5 else str(value) for value in (first, last))
    return text if random.random() < 0.6 else f"{text}/{random.randint(1, 7)}"
