import { wall } from "../shared/time";
import { instantOf } from "../shared/wallInput";
import { KINDS, type Occurrence } from "./occurrences";
import { dayAfter, dayOf } from "./timeline";

const EVENING = "18:00";
const MORNING = "08:00";

/** The night that ended last in a job's zone: yesterday 18:00 to today 08:00, or to the present before that. */
export function lastNight(now: number, zone: string): { from: string; to: string } {
  const today = dayOf(now, zone);
  const from = instantOf(`${dayAfter(today, -1)} ${EVENING}`, zone) as string;
  const isOver = wall(new Date(now), zone).slice(11, 16) >= MORNING;
  const to = isOver ? (instantOf(`${today} ${MORNING}`, zone) as string) : new Date(now).toISOString();
  return { from, to };
}

/** The first of the worst of them. */
export function worst(all: readonly Occurrence[]): Occurrence | undefined {
  return all.toSorted((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind))[0];
}
