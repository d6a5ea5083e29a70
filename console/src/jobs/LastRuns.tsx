import "../shared/colors.css";
import type { Schemas } from "../api/client";
import { useZone } from "../shared/clock";
import { inZone } from "../shared/time";
import { stripText } from "./texts";

const MARKS: Record<string, { color: string; height: number }> = {
  SUCCEEDED: { color: "var(--dc-success)", height: 16 },
  DEAD: { color: "var(--dc-error)", height: 16 },
  RETRYING: { color: "var(--dc-warning)", height: 12 },
  RUNNING: { color: "var(--dc-info)", height: 12 },
  WAITING: { color: "var(--dc-info)", height: 12 },
  QUEUED: { color: "var(--dc-inactive)", height: 8 },
};
const OTHER = { color: "var(--dc-inactive)", height: 5 };

/** The colour and the height (px) of a state. */
export const markOf = (state: string) => MARKS[state] ?? OTHER;

/** A job's last runs as marks, which the list of jobs has. */
export function LastRuns({ job }: { job: Pick<Schemas["Job"], "timezone" | "last_runs"> }) {
  const zone = useZone(job.timezone);
  if (job.last_runs === undefined) return "…";
  if (job.last_runs.length === 0) return "-";
  const runs = job.last_runs.toReversed();
  return (
    <span role="img" aria-label={stripText(runs.map((run) => run.state))} className="nowrap">
      {runs.map((run) => {
        const { color, height } = markOf(run.state);
        return (
          <span
            key={run.id}
            title={`${run.state} ${inZone(run.occurrence, zone)}`}
            style={{
              display: "inline-block",
              inlineSize: run.state === "DEAD" ? 7 : 5,
              blockSize: height,
              marginInlineEnd: 1,
              borderRadius: 1,
              background: color,
            }}
          />
        );
      })}
    </span>
  );
}
