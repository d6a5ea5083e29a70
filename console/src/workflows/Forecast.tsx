import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { api, type Schemas } from "../api/client";
import { Time } from "../shared/Instant";
import { duration } from "../shared/time";

const REFRESH_MS = 60_000;

/** The forecast of a workflow's run. It costs more reads than the run, so it is read less often. */
export function useForecast(id: string, run: Schemas["WorkflowRun"], enabled: boolean) {
  const instant = run.run.slice(id.length + 1);
  const { data } = api.useQuery(
    "get",
    "/v1/workflows/{workflow_id}/runs/{instant}",
    { params: { path: { workflow_id: id, instant }, query: { forecast: "true" } } },
    { enabled, refetchInterval: REFRESH_MS },
  );
  return enabled ? (data?.forecast ?? null) : null;
}

/** When the run is predicted to end, with the reason and the remaining steps that determine this. */
export function Forecast({ forecast, zone }: { forecast: Schemas["Forecast"]; zone: string | undefined }) {
  return (
    <>
      <Time at={forecast.predicted_end} zone={zone} /> {forecast.is_lower_bound && "at the earliest "}
      <StatusIndicator type={forecast.at_risk ? "warning" : "info"}>{forecast.reason}</StatusIndicator>
      <div>{pathText(forecast.critical_path)}</div>
    </>
  );
}

/** The steps of a critical path, each with its p90 and the number of earlier runs. */
export function pathText(path: Schemas["Forecast"]["critical_path"]): string {
  return path
    .map(({ id, p90_seconds, samples }) =>
      p90_seconds === null ? `${id} (unknown)` : `${id} (p90 ${duration(p90_seconds)} of ${samples} runs)`,
    )
    .join(" → ");
}
