import type { Schemas } from "../api/client";
import { duration, elapsed } from "../shared/time";

export interface Point {
  x: Date;
  y: number;
}

/** How long the last attempts of the runs that have ended took, and how late they started, by their due time; seconds, oldest first. */
export function figures(runs: readonly Schemas["Run"][]): { durations: Point[]; lateness: Point[] } {
  const ended = runs
    .filter((run) => run.attempt_started_at !== null && run.finished_at !== null)
    .sort((a, b) => Date.parse(a.due) - Date.parse(b.due));
  return {
    durations: ended.map((run) => ({
      x: new Date(run.due),
      y: elapsed(run.attempt_started_at, run.finished_at) ?? 0,
    })),
    lateness: ended.map((run) => ({ x: new Date(run.due), y: Math.max(run.lateness_seconds ?? 0, 0) })),
  };
}

/** The same in words, for screen readers. */
export function inWords(points: readonly Point[]): string {
  const sorted = points.map((point) => point.y).sort((a, b) => a - b);
  if (sorted.length === 0) return "No run has ended yet.";
  const at = (part: number) =>
    duration(sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? 0);
  const runs = sorted.length === 1 ? "1 run" : `${sorted.length} runs`;
  return `${runs}: median ${at(0.5)}, p95 ${at(0.95)}, longest ${at(1)}.`;
}
