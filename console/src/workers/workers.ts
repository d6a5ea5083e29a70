import type { Schemas } from "../api/client";

type Worker = Schemas["Worker"];

/** The statuses of workers in words. */
export const STATUSES: Record<string, string> = { working: "Working", seen: "Seen", silent: "Silent" };

/** The workers that match a text in their name, job or status. */
export function matching(workers: readonly Worker[], text: string): Worker[] {
  const wanted = text.trim().toLowerCase();
  return workers.filter(({ name, job_id, status }) =>
    [name, job_id, status].some((each) => each.toLowerCase().includes(wanted)),
  );
}

/** How many workers match, in words. */
export function counted(count: number): string {
  return `${count} ${count === 1 ? "match" : "matches"}`;
}
