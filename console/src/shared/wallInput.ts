import { wall } from "./time";

const WRITTEN = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2}))?)?$/;
const DAY_MS = 86_400_000;

/** The instant at which a zone's clock shows `2026-03-29 02:30`, as the API writes it; seconds may follow, and
 * without a time it is midnight. Null if the text is none of these. Shown twice: the first time. Never shown: the instant that the clock would have had if it had not
 * been set, so that the API says what became of it.
 */
export function instantOf(text: string, zone: string): string | null {
  const [, date, minute = "00:00", second = "00"] = WRITTEN.exec(text.trim()) ?? [];
  const wanted = date === undefined ? Number.NaN : Date.parse(`${date}T${minute}:${second}Z`);
  if (Number.isNaN(wanted)) return null;
  const offset = (at: number) =>
    Date.parse(`${wall(new Date(at), zone).slice(0, 19).replace(" ", "T")}Z`) - at;
  const candidates = [offset(wanted - DAY_MS), offset(wanted + DAY_MS)].map((o) => wanted - o);
  const shown = candidates.filter((at) => at + offset(at) === wanted);
  const at = shown.length > 0 ? Math.min(...shown) : Math.max(...candidates);
  return new Date(at).toISOString().replace(".000Z", "Z");
}
