/** The CloudWatch metrics of a stage, by steps of the last 24 hours. */

import type { Schemas } from "../api/client";

export type Figures = Schemas["Figures"];

export interface Step {
  at: Date;
  lateness: Figures["lateness"][number] | undefined;
  outcomes: Figures["outcomes"][number] | undefined;
}

const DAY_SECONDS = 86_400;

/** Every step, oldest first, also those of which there is no value. */
export function steps({ since, step_seconds, lateness, outcomes }: Figures): Step[] {
  const late = byTime(lateness);
  const ended = byTime(outcomes);
  return Array.from({ length: DAY_SECONDS / step_seconds }, (_, number) => {
    const at = Date.parse(since) + number * step_seconds * 1000;
    return { at: new Date(at), lateness: late.get(at), outcomes: ended.get(at) };
  });
}

function byTime<Value extends { at: string }>(values: readonly Value[]): Map<number, Value> {
  return new Map(values.map((each) => [Date.parse(each.at), each]));
}

/** `99.9%`, rounded down, so that a missed target never seems to be met. */
export function percent(share: number, digits = 2): string {
  const factor = 10 ** digits;
  return `${Math.floor(share * 100 * factor + 1e-6) / factor}%`;
}
