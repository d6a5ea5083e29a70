"""Compiles a spec into a schedule. Results are cached: there are few expressions and zones, and many calls for them."""

from __future__ import annotations

from functools import lru_cache

from duecourse.domain.schedules.cron.cron import Cron, parse_cron, parse_eventbridge
from duecourse.domain.schedules.cron.pattern import Pattern, pattern_of
from duecourse.domain.schedules.error import ScheduleError, refuse, shown
from duecourse.domain.schedules.instant import Moment, parse_at, parse_moment
from duecourse.domain.schedules.rate import Rate, parse_rate, parse_repeating
from duecourse.domain.schedules.schedule import AtSchedule, CronSchedule, NoSchedule, RateSchedule, Schedule
from duecourse.domain.schedules.spec import ScheduleSpec, check_spec
from duecourse.domain.schedules.zones.timeline import load_timeline
from duecourse.domain.schedules.zones.zone import load_zone

LONGEST = 256


def compile_schedule(spec: ScheduleSpec) -> Schedule:
    """Compile a spec. Raises ScheduleError, which names the field and says what to write instead.

    Equal specs share one schedule while it is in the cache (the last 2,048).
    """
    check_spec(spec)  # before the cache, for which True, 1 and 1.0 are equal
    return _compiled(spec)


def forget() -> None:
    """Clear all caches, zones included, so that a cold start can be measured."""
    for kept in (_compiled, understand, _pattern, load_timeline, load_zone):
        kept.cache_clear()


@lru_cache(maxsize=2_048)
def _compiled(spec: ScheduleSpec) -> Schedule:
    # Loaded for every form, even for those without wall times: the name must be valid in any case.
    fixed = load_timeline(spec.timezone, True, spec.dst_gap, spec.dst_fold)
    if not spec.expression:
        return NoSchedule(spec)
    form = understand(spec.expression)
    if isinstance(form, Cron):
        timeline = load_timeline(spec.timezone, False, "skip", "both") if form.interval else fixed
        return CronSchedule(spec, form, _pattern(form), timeline)
    if isinstance(form, Moment):
        return AtSchedule(spec, form, _instants(spec, form))
    return RateSchedule(spec, form, _anchor(spec, form))


@lru_cache(maxsize=2_048)
def understand(expression: str) -> Cron | Moment | Rate:
    """Parse the expression without zone and window. Raises ScheduleError on ``schedule``, for an empty one too."""
    text = _checked(expression).upper()
    if text.startswith(("CRON_TZ=", "TZ=")):
        zone = expression.split(maxsplit=1)[0].partition("=")[2]
        raise refuse(f"give the zone in timezone ({shown(zone)}) and leave it out here")
    name, bracket, rest = text.partition("(")
    if bracket and rest[-1:] == ")":
        inside = rest[:-1].strip()
        if name == "CRON":
            return parse_eventbridge(inside)
        if name == "RATE":
            return parse_rate(inside)
        if name == "AT":
            return parse_at(inside)
    if bracket:
        raise refuse(f"{shown(expression)}: the forms with brackets are cron(...), rate(...) and at(...)")
    if text[0] == "R" and "/" in text and " " not in text:
        return parse_repeating(text)
    return parse_moment(text) or parse_cron(text)


def _checked(expression: str) -> str:
    """The expression without surrounding blanks, checked to be printable ASCII: later checks assume ASCII."""
    if len(expression) > LONGEST:
        raise refuse(f"is {len(expression)} characters long; at most {LONGEST} are allowed")
    if not expression.isascii():
        raise refuse("holds characters outside ASCII; use plain letters, digits and signs")
    text = expression.replace("\t", " ")  # crontab files separate by tabs, too
    if not text.isprintable():
        raise refuse("holds a line break or another control character; leave it out")
    text = text.strip(" ")
    if not text:
        raise refuse("is empty; write for example 0 9 * * 1, rate(5 minutes) or at(2026-01-31T09:00:00)")
    return text


@lru_cache(maxsize=2_048)
def _pattern(cron: Cron) -> Pattern:
    """Cached by expression, not by spec: specs with different zones and windows share it."""
    return pattern_of(cron)


def _instants(spec: ScheduleSpec, moment: Moment) -> tuple[int, ...]:
    if moment.offset is not None:
        return (moment.wall - moment.offset,)
    return load_timeline(spec.timezone, True, spec.dst_gap, spec.dst_fold).instants(moment.wall)


def _anchor(spec: ScheduleSpec, rate: Rate) -> int:
    if rate.start is not None:
        instants = _instants(spec, rate.start)
        if not instants:
            raise refuse(f"{shown(spec.expression)}: its start does not exist in {spec.timezone}, and dst_gap is skip")
        return instants[0]
    if spec.anchor is not None:
        return spec.anchor
    if spec.start is not None:
        return spec.start
    raise ScheduleError("anchor", "a rate counts from somewhere: give anchor or start")
