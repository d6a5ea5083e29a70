import { wall } from "../shared/time";

const WALL = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(:\d{2})?)?$/;

/** The instant at which a zone's clock shows `2026-03-29 02:30` (seconds may follow; without a time it is midnight), as
 * the API takes it. Null for what is no such text and for a time that the clock leaves out; the first of two that it
 * shows twice.
 */
export function fromWall(text: string, zone: string): string | null {
  const found = WALL.exec(text.trim());
  if (found === null) return null;
  const meant = `${found[1]} ${found[2] ?? "00:00"}${found[3] ?? ":00"}`;
  const asUtc = Date.parse(`${meant.replace(" ", "T")}Z`);
  if (Number.isNaN(asUtc)) return null;
  const candidates = [-24, 24].map((hours) => {
    const near = asUtc + hours * 3_600_000;
    return asUtc - (Date.parse(`${wall(new Date(near), zone).replace(" ", "T")}Z`) - near);
  });
  const instant = candidates.sort((a, b) => a - b).find((each) => wall(new Date(each), zone) === meant);
  return instant === undefined ? null : new Date(instant).toISOString().replace(".000Z", "Z");
}
