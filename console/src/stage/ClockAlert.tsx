import Alert from "@cloudscape-design/components/alert";
import type { Schemas } from "../api/client";
import { Time } from "../shared/Instant";
import { Runbook } from "./Runbook";

/** Shown if the clock does not tick: no run starts on time. */
export function ClockAlert({ stats }: { stats: Schemas["Stats"] | undefined }) {
  if (stats === undefined || stats.status === "ok") return null;
  return (
    <Alert type="error" header="Ticks are not running">
      A tick should run every minute. Last tick:{" "}
      {stats.tick.last === null ? "none yet" : <Time at={stats.tick.last} />}. If there is no tick for five
      minutes, runs start late. Check whether the rule that starts the Tick function is enabled, and check the
      function's errors and throttles: <Runbook page="docs/runbooks.md#ticks-missing" />
    </Alert>
  );
}
