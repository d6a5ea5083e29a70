import { useSyncExternalStore } from "react";
import { HERE } from "./time";

/** Whose clock the pages show: the job's, the viewer's, or UTC. */
export type Clock = "job" | "mine" | "utc";

const KEPT = "duecourse-clock";
const listeners = new Set<() => void>();

function clock(): Clock {
  const kept = localStorage.getItem(KEPT);
  return kept === "mine" || kept === "utc" ? kept : "job";
}

/** Changes the clock of all pages, and keeps the choice in this browser. */
export function chooseClock(chosen: Clock): void {
  localStorage.setItem(KEPT, chosen);
  for (const each of listeners) each();
}

export function useClock(): Clock {
  return useSyncExternalStore((changed) => {
    listeners.add(changed);
    window.addEventListener("storage", changed); // another tab
    return () => {
      listeners.delete(changed);
      window.removeEventListener("storage", changed);
    };
  }, clock);
}

/** The zone in which the times of a job are shown and entered. Times that belong to no job are the viewer's, or UTC. */
export function zoneOf(chosen: Clock, ofJob: string = HERE): string {
  return { job: ofJob, mine: HERE, utc: "UTC" }[chosen];
}

/** The same, for the clock that was chosen. */
export function useZone(ofJob?: string): string {
  return zoneOf(useClock(), ofJob);
}
