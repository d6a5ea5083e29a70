import type { Schemas } from "../api/client";
import { Time } from "../shared/Instant";
import { JobStatus } from "../shared/Status";

type Shown = Pick<
  Schemas["Job"],
  "state" | "paused_by" | "paused_because" | "paused_until" | "planned_pause" | "timezone"
>;

/** The state of a job or workflow; if it is paused, also the caller, the reason and the planned end. */
export function State({ job }: { job: Shown }) {
  const [from = "", until = ""] = job.planned_pause?.split("/") ?? [];
  return (
    <>
      <JobStatus state={job.state} />
      {job.state === "PAUSED" && (
        <div className="text">
          by {job.paused_by ?? "Duecourse"}
          {job.paused_because && `: ${job.paused_because}`}
          {job.paused_until !== null && (
            <div>
              until <Time at={job.paused_until} zone={job.timezone} />
            </div>
          )}
        </div>
      )}
      {Date.parse(until) > Date.now() && (
        <div>
          planned pause from <Time at={from} zone={job.timezone} /> until{" "}
          <Time at={until} zone={job.timezone} />
        </div>
      )}
    </>
  );
}
