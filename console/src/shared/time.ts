/** Labels of instants and durations. Instants come from the API as RFC 3339 strings in UTC; durations are seconds. */

/** The viewer's own zone, an IANA name. */
export const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string): Intl.DateTimeFormat {
  let found = formats.get(zone);
  if (found === undefined) {
    found = new Intl.DateTimeFormat("sv-SE", {
      timeZone: zone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    formats.set(zone, found);
  }
  return found;
}

/** `2026-03-29 03:00:00`, the wall clock of a zone. A zone that the browser does not know is shown as UTC. */
export function wall(instant: string | Date, zone: string = HERE): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return String(instant);
  try {
    return format(zone).format(date);
  } catch {
    return `${format("UTC").format(date)} UTC`;
  }
}

/** `2026-03-29 03:00:00 Europe/Berlin`. */
export function inZone(instant: string | Date, zone: string = HERE): string {
  return `${wall(instant, zone)} ${zone}`;
}

/** `2026-03-29 03:00 GMT+2`: the wall clock of a zone with its short name, unless it is the viewer's own. */
export function marked(instant: string, zone: string): string {
  const shown = wall(instant, zone).slice(0, 16);
  if (zone === HERE) return shown;
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" });
  return `${shown} ${parts.formatToParts(new Date(instant)).find(({ type }) => type === "timeZoneName")?.value}`;
}

/** A sentence of the API with its instants, which are in UTC, on a zone's clock. */
export function zoned(text: string, zone: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (at) => inZone(at, zone));
}

/** `1 d 4 h`, `12 min 3 s`, `0.4 s`, `12 ms`: the two largest units. */
export function duration(seconds: number): string {
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds > 0 && seconds < 0.1) return `${Math.max(1, Math.round(seconds * 1_000))} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  const units: [number, string][] = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  let left = Math.round(seconds);
  const parts: string[] = [];
  for (const [size, name] of units) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** `in 5 min`, `3 h ago`, `now`: the largest unit only. */
export function relative(instant: string | Date, now: number = Date.now()): string {
  const seconds = (new Date(instant).getTime() - now) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (Math.abs(seconds) < 1) return "now";
  const largest = duration(Math.abs(seconds) < 10 ? Math.round(Math.abs(seconds)) : Math.abs(seconds))
    .split(" ")
    .slice(0, 2)
    .join(" ");
  return seconds > 0 ? `in ${largest}` : `${largest} ago`;
}

/** How long something took or has taken, in seconds; null before it began. */
export function elapsed(from: string | null, until: string | null, now: number = Date.now()): number | null {
  if (from === null) return null;
  return ((until === null ? now : new Date(until).getTime()) - new Date(from).getTime()) / 1000;
}
