import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";

const RUNS: Record<string, StatusIndicatorProps.Type> = {
  QUEUED: "pending",
  DUE: "pending",
  WAITS: "pending",
  WAITING: "pending",
  RUNNING: "in-progress",
  RETRYING: "warning",
  SUCCEEDED: "success",
  DEAD: "error",
  CANCELLED: "stopped",
  SKIPPED: "stopped",
  LEFT: "stopped",
};
const JOBS: Record<string, StatusIndicatorProps.Type> = {
  ACTIVE: "success",
  PAUSED: "stopped",
  COMPLETED: "info",
};

/** The state of a run, or of a step of a workflow's run. A state of a newer release is shown unchanged. */
export function RunStatus({ state }: { state: string }) {
  return <StatusIndicator type={RUNS[state] ?? "info"}>{state}</StatusIndicator>;
}

export function JobStatus({ state }: { state: string }) {
  return <StatusIndicator type={JOBS[state] ?? "info"}>{state}</StatusIndicator>;
}
