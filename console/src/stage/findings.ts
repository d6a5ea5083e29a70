import type { StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { Schemas } from "../api/client";

type Check = Pick<Schemas["Check"], "verdict" | "name">;

const ORDER = ["bad", "warning", "unknown"];

export const INDICATORS: Record<string, StatusIndicatorProps.Type> = {
  ok: "success",
  warning: "warning",
  bad: "error",
  unknown: "pending",
};

/** Those with something to do, worst first, and the others, both in the order in which a run is made. */
export function sorted<Each extends Check>(checks: readonly Each[]): { wrong: Each[]; fine: Each[] } {
  return {
    wrong: ORDER.flatMap((verdict) => checks.filter((check) => check.verdict === verdict)),
    fine: checks.filter((check) => !ORDER.includes(check.verdict)),
  };
}

/** `1 bad, 2 unknown, 6 ok`. */
export function summary(checks: readonly Check[]): string {
  return [...ORDER, "ok"]
    .map((verdict) => ({ verdict, count: checks.filter((check) => check.verdict === verdict).length }))
    .filter(({ count }) => count > 0)
    .map(({ verdict, count }) => `${count} ${verdict}`)
    .join(", ");
}
