import Badge from "@cloudscape-design/components/badge";
import Box from "@cloudscape-design/components/box";
import Link from "@cloudscape-design/components/link";
import type { TableProps } from "@cloudscape-design/components/table";
import { Fragment } from "react";
import type { Schemas } from "../api/client";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { JobStatus } from "../shared/Status";
import { inLine } from "../shared/targets";
import { inZone } from "../shared/time";
import { LastRuns } from "./LastRuns";
import { Lines } from "./Lines";

export type Job = Schemas["Job"];

/** The columns of the list; no cell has more than two lines. */
export const COLUMNS: TableProps.ColumnDefinition<Job>[] = [
  {
    id: "id",
    header: "Job",
    width: 180,
    isRowHeader: true,
    cell: (job) => (
      <>
        <Lines text={job.id} most={job.name === "" ? 2 : 1}>
          <Link href={to.job(job.id)}>{job.id}</Link>
        </Lines>
        {job.name !== "" && <Lines text={job.name} most={1} />}
      </>
    ),
  },
  {
    id: "state",
    header: "State",
    width: 120,
    cell: (job) => (
      <>
        <JobStatus state={job.state} />
        {(job.paused_because ?? job.error) !== null && (
          <Box variant="small" display="block">
            <Lines text={job.error ?? job.paused_because ?? ""} most={1} />
          </Box>
        )}
      </>
    ),
  },
  { id: "last", header: "Last runs", width: 130, cell: (job) => <LastRuns job={job} /> },
  {
    id: "next",
    header: "Next run",
    width: 240,
    cell: (job) => (
      <Lines text={job.next_occurrence === null ? "-" : inZone(job.next_occurrence, job.timezone)}>
        <Time at={job.next_occurrence} zone={job.timezone} />
      </Lines>
    ),
  },
  {
    id: "schedule",
    header: "Schedule",
    width: 160,
    cell: (job) => <Lines text={job.understood_as ?? "only on request"} />,
  },
  { id: "target", header: "Target", width: 170, cell: (job) => <Lines text={inLine("short", job.target)} /> },
  { id: "owner", header: "Owner", width: 90, cell: (job) => <Lines text={job.owner || "-"} /> },
  {
    id: "tags",
    header: "Tags",
    width: 120,
    cell: (job) => (
      <Lines text={job.tags.join(", ")}>
        {job.tags.map((tag) => (
          <Fragment key={tag}>
            <Badge>{tag}</Badge>{" "}
          </Fragment>
        ))}
      </Lines>
    ),
  },
];
