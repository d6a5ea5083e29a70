import type { Schemas } from "../api/client";

export type SingleRun = Schemas["SingleRun"];
export type Kind =
  | "queued"
  | "in wait queue"
  | "backoff"
  | "running"
  | "succeeded"
  | "failed"
  | "lost"
  | "cancelled";

/** A stretch of a run's time, in milliseconds since 1970. */
export interface Bar {
  kind: Kind;
  from: number;
  until: number;
}
export interface Row {
  label: string;
  bars: Bar[];
}
export interface Strip {
  from: number;
  until: number;
  rows: Row[];
  /** How many attempts came before those that are shown. */
  left_out: number;
}

const OVER = new Set(["SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]);

export const isOver = (run: { state: string }): boolean => OVER.has(run.state);

/** A run's attempts and its waits before and between them, a row each; null where nothing has been waited for. */
export function stripOf(run: SingleRun, now: number): Strip | null {
  const instant = (text: string | null) => (text === null ? null : Date.parse(text));
  const end = (isOver(run) ? instant(run.finished_at) : null) ?? now;
  const attempts = run.attempt_list.filter((each) => each.started_at !== null);
  const first = attempts[0];
  const leftOut = first === undefined ? 0 : first.number - 1;
  const rows: Row[] = [];
  const due = Date.parse(run.due);
  const line = instant(run.waiting_since);
  let at = due;
  if (first === undefined || leftOut === 0) {
    const until = instant(first?.started_at ?? null) ?? Math.max(end, due);
    const lined = run.waiting_for === null || line === null ? until : Math.min(Math.max(line, due), until);
    rows.push({
      label: "Before the start",
      bars: bars(["queued", Math.min(due, until), lined], ["in wait queue", lined, until]),
    });
    at = until;
  } else {
    at = instant(first.started_at) ?? due;
  }
  attempts.forEach((attempt, index) => {
    const from = Math.max(instant(attempt.started_at) ?? at, at);
    const next = attempts[index + 1];
    const unseen = attempt.outcome === null ? now : (instant(next?.started_at ?? null) ?? end);
    const until = Math.max(instant(attempt.ended_at) ?? unseen, from);
    const kind = attempt.outcome ?? "running";
    rows.push({
      label: `Attempt ${attempt.number}`,
      bars: [...bars(["backoff", at, from]), { kind, from, until }],
    });
    at = until;
  });
  if (run.state === "RETRYING" && now > at) {
    rows.push({ label: `Attempt ${run.attempts + 1}`, bars: bars(["backoff", at, now]) });
  }
  const shown = rows.filter((row) => row.bars.length > 0);
  const all = shown.flatMap((row) => row.bars);
  if (all.length === 0) return null;
  return {
    from: Math.min(...all.map((bar) => bar.from)),
    until: Math.max(...all.map((bar) => bar.until)),
    rows: shown,
    left_out: leftOut,
  };
}

function bars(...given: [Kind, number, number][]): Bar[] {
  return given
    .filter(([, from, until]) => until > from)
    .map(([kind, from, until]) => ({ kind, from, until }));
}

/** The position of a bar in its strip, in percent; wide enough to be visible. */
export function placeOf(bar: Bar, strip: Strip): { left: number; width: number } {
  const whole = Math.max(strip.until - strip.from, 1);
  const width = Math.max(((bar.until - bar.from) / whole) * 100, 0.6);
  return { left: Math.min(((bar.from - strip.from) / whole) * 100, 100 - width), width };
}
