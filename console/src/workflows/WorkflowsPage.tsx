import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import TextFilter from "@cloudscape-design/components/text-filter";
import { useState } from "react";
import { fetcher } from "../api/client";
import { to } from "../app/routes";
import { useClock, zoneOf } from "../shared/clock";
import { Time } from "../shared/Instant";
import { PagedTable } from "../shared/PagedTable";
import { JobStatus } from "../shared/Status";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { Zoned } from "../shared/Zoned";

/** All workflows. */
export default function WorkflowsPage() {
  const [filters, change] = useFilters(["prefix", "tag", "state", "owner"]);
  const clock = useClock();
  const [prefix, setPrefix] = useState(filters.prefix ?? "");
  const pages = usePages(["workflows", filters], async (cursor, signal) => {
    const query = { ...filters, state: filters.state as "ACTIVE" | undefined, limit: 50, cursor };
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
          filteringText={prefix}
          filteringPlaceholder="Find workflows by id prefix"
          filteringAriaLabel="Find workflows by id prefix"
          onChange={({ detail }) => setPrefix(detail.filteringText)}
          onDelayedChange={({ detail }) => change({ prefix: detail.filteringText.trim() })}
        />
      }
      columnDefinitions={[
        {
          id: "id",
          header: "Workflow",
          isRowHeader: true,
          width: 230,
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
          id: "schedule",
          header: "Schedule",
          width: 220,
          grow: 1,
          cell: (each) => each.understood_as ?? "None: runs only on demand",
        },
        {
          id: "next",
          header: <Zoned text="Next occurrence" zone={clock === "job" ? "job's zone" : zoneOf(clock)} />,
          width: 180,
          cell: (each) => <Time at={each.next_occurrence} zone={each.timezone} bare />,
        },
        {
          id: "owner",
          header: "Owner",
          width: 120,
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
