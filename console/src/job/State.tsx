import type { Schemas } from "../api/client";
import { JobStatus } from "../shared/Status";

/** The state of a job or workflow; if it is paused, also the caller and the reason. */
export function State({ job }: { job: Pick<Schemas["Job"], "state" | "paused_by" | "paused_because"> }) {
  return (
    <>
      <JobStatus state={job.state} />
      {job.state === "PAUSED" && (
        <div className="text">
          by {job.paused_by ?? "Duecourse"}
          {job.paused_because && `: ${job.paused_because}`}
        </div>
      )}
    </>
  );
}
