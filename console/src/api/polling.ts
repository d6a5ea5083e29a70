import { queries } from "./client";

/** The intervals in which pages reload, in milliseconds. Hidden tabs do not reload. */
export const OVERVIEW = 30_000;
export const LIST = 10_000;
/** A run's own page while the run is in progress. */
export const RUN = 2_000;

/** Without input for this long (ms), pages reload less often. */
const IDLE = 120_000;
const SLOWER = 5;

let input = Date.now();

function noticed(): void {
  const slow = isIdle();
  input = Date.now();
  if (slow) void queries.refetchQueries({ type: "active", stale: true });
}

for (const kind of ["pointermove", "pointerdown", "keydown", "wheel"])
  addEventListener(kind, noticed, { passive: true });

const isIdle = () => Date.now() - input > IDLE;

/** The interval for now: a longer one without input. */
export const paced = (interval: number): number => (isIdle() ? SLOWER * interval : interval);
