import type { DateRangePickerProps } from "@cloudscape-design/components/date-range-picker";
import type { PropertyFilterProps } from "@cloudscape-design/components/property-filter";
import type { Choice } from "../operations/texts";

/** The filters of runs, as in the page's address. `state` may be several, with commas between. `within`
 * is the time up to now (`24-hour`), `since` and `until` are instants.
 */
export const NAMES = ["state", "job", "tag", "error", "worker", "within", "since", "until"] as const;
export type Filters = Partial<Record<(typeof NAMES)[number], string>>;
export type Changes = Partial<Record<(typeof NAMES)[number], string | undefined>>;

export const STATES = [
  "SUCCEEDED",
  "QUEUED",
  "RUNNING",
  "WAITING",
  "DEAD",
  "RETRYING",
  "CANCELLED",
  "SKIPPED",
  "DISCARDED",
];

/** The parameters of the API for the selected states. Discarded runs are dead, and have a list of their own. */
export function statesOf({ state }: Filters): { state?: string; discarded?: "true" } {
  return state?.split(",").includes("DISCARDED") ? { discarded: "true" } : { state };
}

const PROPERTIES = ["state", "job", "tag", "error", "worker"] as const;

/** The filter's tokens. */
export function queryOf(filters: Filters): PropertyFilterProps.Query {
  const tokens = PROPERTIES.flatMap((propertyKey): PropertyFilterProps.Token[] => {
    const value = filters[propertyKey];
    if (value === undefined) return [];
    if (propertyKey === "state") return [{ propertyKey, operator: "=", value: value.split(",") }];
    return [{ propertyKey, operator: propertyKey === "error" ? ":" : "=", value }];
  });
  return { tokens, operation: "and" };
}

/** Discarded runs have a list of their own, so no other states are selected with them. */
const alone = (states: readonly string[]) => (states.includes("DISCARDED") ? ["DISCARDED"] : states);

/** The filters of tokens. The last token of a property counts; text without a property is part of the error. */
export function changesOf(query: PropertyFilterProps.Query): Changes {
  const changes: Changes = {
    state: undefined,
    job: undefined,
    tag: undefined,
    error: undefined,
    worker: undefined,
  };
  for (const { propertyKey = "error", value } of query.tokens) {
    const name = PROPERTIES.find((each) => each === propertyKey);
    if (name !== undefined) changes[name] = Array.isArray(value) ? alone(value).join(",") : String(value);
  }
  return changes;
}

const UNITS = { minute: 60, hour: 3_600, day: 86_400 } as const;
export const RANGES = (
  [
    [1, "hour"],
    [24, "hour"],
    [7, "day"],
    [30, "day"],
  ] as const
).map(([amount, unit]) => ({ key: `${amount}-${unit}`, amount, unit, type: "relative" as const }));

/** The instants that a range of time means at `now` (in milliseconds). */
export function rangeOf(filters: Filters, now: number): { since?: string; until?: string } {
  const within = relativeOf(filters.within);
  if (within !== null) return { since: seconds(new Date(now - within.amount * UNITS[within.unit] * 1_000)) };
  return { since: filters.since, until: filters.until };
}

/** The same as the picker has it. A side that is left open is the beginning of time, or now. */
export function pickedOf(filters: Filters, now: number): DateRangePickerProps.Value | null {
  const within = relativeOf(filters.within);
  if (within !== null) return { key: `${within.amount}-${within.unit}`, ...within, type: "relative" };
  if (filters.since === undefined && filters.until === undefined) return null;
  return {
    type: "absolute",
    startDate: filters.since ?? seconds(new Date(0)),
    endDate: filters.until ?? seconds(new Date(now)),
  };
}

export function changesOfRange(picked: DateRangePickerProps.Value | null): Changes {
  const none = { within: undefined, since: undefined, until: undefined };
  if (picked === null) return none;
  if (picked.type === "relative") return { ...none, within: `${picked.amount}-${picked.unit}` };
  return { ...none, since: seconds(new Date(picked.startDate)), until: seconds(new Date(picked.endDate)) };
}

function relativeOf(text: string | undefined): { amount: number; unit: keyof typeof UNITS } | null {
  const [, amount, unit] = /^(\d{1,4})-(minute|hour|day)$/.exec(text ?? "") ?? [];
  return amount === undefined ? null : { amount: Number(amount), unit: unit as keyof typeof UNITS };
}

function seconds(instant: Date): string {
  return instant.toISOString().replace(/\.\d+Z$/, "Z");
}

/** Which list answers: of a job, by occurrence; of a job, where an error or a tag is searched for; or of all jobs, by the
 * time of the last change of state.
 */
export function listOf(filters: Filters): "of a job" | "found in a job" | "across jobs" {
  if (filters.job === undefined) return "across jobs";
  return filters.error === undefined && filters.tag === undefined ? "of a job" : "found in a job";
}

export type Cancellation = Choice & { kind: "cancel" };

const UNENDED = ["QUEUED", "RETRYING", "WAITING", "RUNNING"] as const;

/** The request that cancels the runs of the list at `now` (in milliseconds). Undefined if the list may contain runs that
 * have ended, if its range of time selects occurrences, or if it is limited to a worker, which the request cannot be.
 */
export function cancellationOf(filters: Filters, now: number): Cancellation | undefined {
  const states = filters.state?.split(",") ?? [];
  const state = UNENDED.filter((each) => states.includes(each));
  const { since, until } = rangeOf(filters, now);
  const ranged = listOf(filters) === "of a job" && (since !== undefined || until !== undefined);
  if (filters.worker !== undefined || ranged || state.length === 0 || state.length !== states.length)
    return undefined;
  const { job: job_id, tag, error } = filters;
  return { kind: "cancel", state, job_id, tag, error, since, until };
}

/** The runs that a list across jobs omits, in words. `unlisted` are the states of which the stage lists no runs. */
export function omittedOf(filters: Filters, unlisted: readonly string[] = []): string[] {
  if (listOf(filters) !== "across jobs") return [];
  const states = filters.state?.split(",") ?? STATES;
  return [
    ...(states.includes("SUCCEEDED") && unlisted.includes("SUCCEEDED")
      ? ["successful runs (setting of the stage)"]
      : []),
    ...(states.includes("QUEUED") ? ["enqueued occurrences"] : []),
    ...(states.includes("RUNNING") ? ["calls of less than ten seconds"] : []),
  ];
}

/** Where the delayed runs are in a list across jobs, in words. They have no errors. */
function delayedOf({ state, error }: Filters): string {
  if (error !== undefined) return "";
  if (state === undefined) return " Delayed runs are listed if you select the state QUEUED.";
  return state.split(",").includes("QUEUED") ? " Delayed runs follow, the next one first." : "";
}

/** A description of the list. */
export function saidOf(filters: Filters, unlisted: readonly string[] = []): string {
  const omitted = omittedOf(filters, unlisted);
  const rest = omitted.length === 0 ? "" : ` Listed only on the page of a job: ${omitted.join(", ")}.`;
  switch (listOf(filters)) {
    case "of a job":
      return `Runs of ${filters.job}${filters.state === undefined ? "" : " in the selected states"}, newest occurrence first.`;
    case "found in a job":
      return `Runs of ${filters.job} that match the filters, newest first.`;
    case "across jobs": {
      const found = filters.error === undefined ? "All runs" : "Runs with the error";
      return `${filters.state === undefined ? found : "Runs in the selected states"}, most recent state change first.${delayedOf(filters)}${rest}`;
    }
  }
}
