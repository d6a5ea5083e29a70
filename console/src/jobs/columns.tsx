import Link from "@cloudscape-design/components/link";
import type { Schemas } from "../api/client";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { Long } from "../shared/Long";
import type { Column } from "../shared/Rows";
import { JobStatus } from "../shared/Status";
import { inLine } from "../shared/targets";
import { Zoned } from "../shared/Zoned";
import { LastRuns } from "./LastRuns";

export type Job = Schemas["Job"];

/** Whether there is something to say about a job's state. */
export function hasNote(job: Job): boolean {
  return (job.error ?? job.paused_because) !== null;
}

/** The columns of the list, each with one line. `zone`: whose times it shows. */
export const columns = (zone: string): Column<Job>[] => [
  {
    id: "id",
    header: "Job",
    width: 185,
    grow: 3,
    isRowHeader: true,
    cell: (job) => (
      <span title={[job.id, job.name].filter(Boolean).join(": ")} className="text">
        <Link href={to.job(job.id)}>{job.id}</Link>
        {job.name !== "" && ` ${job.name}`}
      </span>
    ),
  },
  { id: "state", header: "State", width: 132, card: 50, cell: (job) => <JobStatus state={job.state} /> },
  { id: "last", header: "Last runs", width: 122, card: 50, cell: (job) => <LastRuns job={job} /> },
  {
    id: "next",
    header: <Zoned text="Next occurrence" zone={zone} />,
    width: 215,
    card: 100,
    has: (job) => job.next_occurrence !== null,
    cell: (job) => <Time at={job.next_occurrence} zone={job.timezone} bare mixed />,
  },
  {
    id: "schedule",
    header: "Schedule",
    width: 142,
    grow: 3,
    card: 100,
    cell: (job) => {
      const text = job.understood_as ?? "only on demand";
      return (
        <span className="text lines" style={{ WebkitLineClamp: 2 }} title={text}>
          {text}
        </span>
      );
    },
  },
  {
    id: "note",
    header: "Note",
    width: 85,
    grow: 2,
    card: 100,
    has: hasNote,
    cell: (job) => <Long text={job.error ?? job.paused_because} header={job.id} />,
  },
  {
    id: "target",
    header: "Target",
    width: 200,
    spare: true,
    grow: 1,
    cell: (job) => <Text>{inLine("short", job.target)}</Text>,
  },
  { id: "owner", header: "Owner", width: 100, spare: true, cell: (job) => <Text>{job.owner || "-"}</Text> },
  { id: "tags", header: "Tags", width: 130, spare: true, cell: (job) => <Text>{job.tags.join(", ")}</Text> },
];

/** A text that is shown as a whole beneath the mouse. */
function Text({ children }: { children: string }) {
  return (
    <span className="text" title={children}>
      {children}
    </span>
  );
}
