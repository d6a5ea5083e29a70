import { useSyncExternalStore } from "react";
import type { ApiProblem } from "./problem";

/** The connection to the API, which all pages share: an outage has one message, not one for each part of a page. */
export interface Connection {
  online: boolean;
  /** The time of the last response with data (ms); null: none yet. */
  seen: number | null;
  /** The failure since then that a retry may solve. */
  problem: ApiProblem | null;
}

let now: Connection = { online: navigator.onLine, seen: null, problem: null };
const listeners = new Set<() => void>();

function change(part: Partial<Connection>): void {
  now = { ...now, ...part };
  for (const each of listeners) each();
}

addEventListener("online", () => change({ online: true }));
addEventListener("offline", () => change({ online: false }));

/** A response with data has arrived. */
export const reached = (): void => change({ online: navigator.onLine, seen: Date.now(), problem: null });

/** A request failed. A rejection (4xx) is a response: it is no outage. */
export const missed = (problem: ApiProblem): void => {
  if (problem.passes) change({ problem });
};

export function useConnection(): Connection {
  return useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => now,
  );
}
