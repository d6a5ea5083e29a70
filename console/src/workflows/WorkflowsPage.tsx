import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import TextFilter from "@cloudscape-design/components/text-filter";
import { fetcher } from "../api/client";
import { to } from "../app/routes";
import { LastRuns } from "../jobs/LastRuns";
import { useClock, zoneOf } from "../shared/clock";
import { Time } from "../shared/Instant";
import { PagedTable } from "../shared/PagedTable";
import { JobStatus } from "../shared/Status";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { useSearchText } from "../shared/useSearchText";
import { Zoned } from "../shared/Zoned";

const PAGE = 50;

const LAST = 20;

/** All workflows. */
export default function WorkflowsPage() {
  const [filters, change] = useFilters(["search", "prefix", "tag", "state", "owner"]);
  const clock = useClock();
  const typed = useSearchText(filters.search, (search) => change({ search }));
  const pages = usePages(["workflows", filters], async (cursor, signal) => {
    const query = {
      ...filters,
      state: filters.state as "ACTIVE" | undefined,
      limit: PAGE,
      runs: LAST,
      cursor,
    };
    const { data } = await fetcher.GET("/v1/workflows", { params: { query }, signal });
    if (data === undefined) throw new SyntaxError("an empty response");
    return data;
  });
  const filtered = Object.keys(filters).length > 0;
  return (
    <PagedTable
      pages={pages}
      ariaLabels={{ tableLabel: "Workflows" }}
      header={
        <Header
          variant="h1"
          actions={
            <Button variant="primary" href="#/workflows/new">
              Create workflow
            </Button>
          }
        >
          Workflows
        </Header>
      }
      filter={
        <TextFilter
          filteringText={typed.text}
          filteringPlaceholder="Find workflows by any part of their id or name"
          filteringAriaLabel="Find workflows"
          onChange={({ detail }) => typed.setText(detail.filteringText)}
          onDelayedChange={({ detail }) => typed.send(detail.filteringText)}
        />
      }
      columnDefinitions={[
        {
          id: "id",
          header: "Workflow",
          isRowHeader: true,
          width: 180,
          grow: 2,
          cell: (each) => (
            <span title={[each.id, each.name].filter(Boolean).join(": ")} className="text">
              <Link href={to.workflow(each.id)}>{each.id}</Link>
              {each.name !== "" && ` ${each.name}`}
            </span>
          ),
        },
        { id: "state", header: "State", width: 150, cell: (each) => <JobStatus state={each.state} /> },
        {
          id: "last",
          header: "Last runs",
          width: 190,
          cell: (each) => <LastRuns job={each} />,
        },
        {
          id: "schedule",
          header: "Schedule",
          width: 170,
          grow: 1,
          cell: (each) => each.understood_as ?? "None: runs only on demand",
        },
        {
          id: "next",
          header: <Zoned text="Next occurrence" zone={clock === "job" ? "job's zone" : zoneOf(clock)} />,
          width: 210,
          cell: (each) => <Time at={each.next_occurrence} zone={each.timezone} bare mixed />,
        },
        {
          id: "owner",
          header: "Owner",
          width: 120,
          spare: true,
          cell: (each) => <span className="text">{each.owner || "-"}</span>,
        },
      ]}
      empty={
        filtered
          ? "No workflows match. Change the filter."
          : "There are no workflows yet. Choose Create workflow, or use the command duecourse workflows put."
      }
    />
  );
}
