import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import { fetcher } from "../api/client";
import { to } from "../app/routes";
import { PagedTable } from "../shared/PagedTable";
import { JobStatus } from "../shared/Status";
import { Time } from "../shared/Time";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";

export default function JobsPage() {
  const [filters] = useFilters(["tag", "state", "owner", "prefix"]);
  const pages = usePages(["jobs", filters], async (cursor, signal) => {
    const { data } = await fetcher.GET("/v1/jobs", { params: { query: { limit: 50, cursor } }, signal });
    if (data === undefined) throw new SyntaxError("an empty answer");
    return data;
  });
  return (
    <PagedTable
      pages={pages}
      header={
        <Header
          variant="h1"
          actions={
            <Button href="#/jobs/new" variant="primary">
              Create job
            </Button>
          }
        >
          Jobs
        </Header>
      }
      columnDefinitions={[
        { id: "id", header: "Job", cell: (job) => <Link href={to.job(job.id)}>{job.id}</Link> },
        { id: "state", header: "State", cell: (job) => <JobStatus state={job.state} /> },
        {
          id: "next",
          header: "Next run",
          cell: (job) => <Time at={job.next_occurrence} zone={job.timezone} />,
        },
      ]}
      empty="There are no jobs yet."
    />
  );
}
