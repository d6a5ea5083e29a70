import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import Checkbox from "@cloudscape-design/components/checkbox";
import CollectionPreferences from "@cloudscape-design/components/collection-preferences";
import Header from "@cloudscape-design/components/header";
import LiveRegion from "@cloudscape-design/components/live-region";
import PropertyFilter from "@cloudscape-design/components/property-filter";
import SpaceBetween from "@cloudscape-design/components/space-between";
import TextFilter from "@cloudscape-design/components/text-filter";
import { useState } from "react";
import { fetcher } from "../api/client";
import { useRefusal } from "../app/context";
import { to } from "../app/routes";
import { useClock, zoneOf } from "../shared/clock";
import { fitting } from "../shared/fitted";
import { PagedTable } from "../shared/PagedTable";
import { CARDS, useNarrow } from "../shared/Rows";
import { useFilters } from "../shared/useFilters";
import { usePages } from "../shared/usePages";
import { useSearchText } from "../shared/useSearchText";
import { columns as columnsOf, hasNote, type Job } from "./columns";
import { CHOICES, FILTERS, filtersOf, isShown, PROPERTIES, queryOf } from "./filter";
import { useColumns } from "./useColumns";
import { useManyJobs } from "./useManyJobs";
import { useSelectAll } from "./useSelectAll";
import { useTotal } from "./useTotal";

/** The width of the menu, the check boxes and the space around the table (px). */
const AROUND = 385;

/** At first, the columns are shown for which the window has room. */
function standard() {
  const all = columnsOf("").map((each) => ({ ...each, id: each.id as string, width: each.width ?? 0 }));
  const shown = new Set(fitting(all, innerWidth - AROUND).map((each) => each.id));
  return {
    pageSize: 50,
    contentDisplay: all.map(({ id }) => ({ id, visible: shown.has(id) })),
    widths: {} as Record<string, number>,
  };
}

export default function JobsPage() {
  const [filters, setFilters] = useFilters(FILTERS);
  const [choices, choose] = useFilters(CHOICES);
  const [columns, setColumns] = useColumns(standard);
  const clock = useClock();
  const definitions = columnsOf(clock === "job" ? "job's zone" : zoneOf(clock));
  const [chosen, setChosen] = useState<readonly Job[]>([]);
  const total = useTotal(filters);
  const all = useSelectAll(filters, setChosen);
  const refusal = useRefusal("jobs:write");
  const many = useManyJobs((failed) => setChosen((all) => all.filter((job) => failed.includes(job.id))));
  const pageSize = useNarrow() ? Math.min(columns.pageSize, CARDS) : columns.pageSize;
  // A read of the last runs costs a query for each job, so they are read only if they are shown.
  const runs =
    columns.contentDisplay.some(({ id, visible }) => id === "last" && visible) || choices.failing
      ? 10
      : undefined;
  const filtered = FILTERS.some((name) => filters[name] !== undefined) || choices.failing !== undefined;
  const pages = usePages(["jobs", "list", filters, choices, pageSize, runs], async (cursor, signal) => {
    const query = { ...filters, limit: pageSize, cursor, runs } as { limit: number };
    const { data } = await fetcher.GET("/v1/jobs", { params: { query }, signal });
    if (data === undefined) throw new SyntaxError("an empty response");
    const items = data.items.filter((job) => isShown(job, choices));
    return { ...data, items, hides: items.length < data.items.length };
  });
  const unreadable = pages.page?.unreadable ?? [];
  const ids = chosen.map((job) => job.id);
  const listed = new Map(pages.items.map((job) => [job.id, job]));
  const present = chosen.map((job) => listed.get(job.id) ?? job); // as they are by now
  const why = refusal ?? (ids.length === 0 ? "Select jobs first." : undefined);
  const actions = { pause: many.pause, resume: many.resume, run: many.run, delete: many.delete };
  const search = (changes: Parameters<typeof setFilters>[0]) => {
    setChosen([]); // actions do not apply to jobs that are no longer shown
    setFilters(changes);
  };
  const typed = useSearchText(filters.search, (text) => search({ search: text }));
  const showAll = () => {
    search(Object.fromEntries([...FILTERS, ...CHOICES].map((name) => [name, undefined])));
  };
  // Some are selected, and there may be more.
  const partly = ids.length > 0 && (pages.pagination.pagesCount > 1 || ids.length < pages.items.length);
  return (
    <>
      {many.modal}
      {filters.search !== undefined && total !== undefined && (
        <LiveRegion hidden>{`${total} jobs`}</LiveRegion>
      )}
      {unreadable.length > 0 && (
        <Alert type="warning">
          {`This release cannot read ${unreadable.join(", ")}: a newer release wrote it, or it is damaged. Contact the operator.`}
        </Alert>
      )}
      <PagedTable
        pages={pages}
        trackBy="id"
        selectionType="multi"
        selectedItems={[...chosen]}
        onSelectionChange={({ detail }) => setChosen(detail.selectedItems)}
        ariaLabels={{
          tableLabel: "Jobs",
          selectionGroupLabel: "Select jobs",
          allItemsSelectionLabel: () => "Select all jobs on this page",
          itemSelectionLabel: (_, job) => `Select ${job.id}`,
        }}
        columnDefinitions={definitions.map((each) => {
          const width = columns.widths[each.id ?? ""];
          return width === undefined ? each : { ...each, width, grow: 0 };
        })}
        resizableColumns
        onColumnWidthsChange={({ detail }) => {
          const seen = columns.contentDisplay.filter((each) => each.visible);
          const widths = seen.map(({ id }, index) => [id, detail.widths[index]]);
          setColumns({ widths: { ...columns.widths, ...Object.fromEntries(widths) } });
        }}
        columnDisplay={columns.contentDisplay.map((each) =>
          each.id === "note" ? { ...each, visible: each.visible && pages.items.some(hasNote) } : each,
        )}
        header={
          <Header
            variant="h1"
            counter={
              total &&
              `(${total}${pages.page?.hides ? ", some hidden" : ""}${ids.length > 0 ? `, ${ids.length.toLocaleString("en-GB")} selected` : ""})`
            }
            actions={
              <SpaceBetween direction="horizontal" size="xs">
                <ButtonDropdown
                  disabled={why !== undefined}
                  disabledReason={why}
                  items={[
                    { id: "run", text: "Run now" },
                    { id: "pause", text: "Pause" },
                    { id: "resume", text: "Resume" },
                    { id: "delete", text: "Delete" },
                  ]}
                  onItemClick={({ detail }) => actions[detail.id as keyof typeof actions](present)}
                >
                  Actions
                </ButtonDropdown>
                <Button
                  href={ids.length === 1 && refusal === undefined ? to.editJob(ids[0] as string) : undefined}
                  disabled={ids.length !== 1 || refusal !== undefined}
                  disabledReason={
                    refusal ??
                    (ids.length === 0
                      ? "Select one job."
                      : "Select one job. To change many jobs, use the command duecourse jobs patch --tag … --set schedule=…")
                  }
                >
                  Edit
                </Button>
                <Button
                  href="#/jobs/new"
                  variant="primary"
                  disabled={refusal !== undefined}
                  disabledReason={refusal}
                >
                  Create job
                </Button>
              </SpaceBetween>
            }
          >
            Jobs
          </Header>
        }
        filter={
          <SpaceBetween size="xs">
            <TextFilter
              filteringText={typed.text}
              filteringPlaceholder="Find jobs by any part of their id or name"
              filteringAriaLabel="Find jobs"
              onChange={({ detail }) => typed.setText(detail.filteringText)}
              onDelayedChange={({ detail }) => typed.send(detail.filteringText)}
            />
            <PropertyFilter
              query={queryOf(filters)}
              onChange={({ detail }) => search(filtersOf(detail))}
              filteringProperties={PROPERTIES}
              filteringOptions={optionsOf(pages.items)}
              freeTextFiltering={{ operators: ["="], defaultOperator: "=" }}
              hideOperations
              filteringAriaLabel="Filter jobs"
              filteringPlaceholder="Tag, state, owner or id prefix"
            />
            <SpaceBetween direction="horizontal" size="m">
              <Checkbox
                checked={choices.failing !== undefined}
                onChange={({ detail }) => choose({ failing: detail.checked ? "yes" : undefined })}
              >
                Only failing jobs
              </Checkbox>
              <Checkbox
                checked={choices.steps !== undefined}
                onChange={({ detail }) => choose({ steps: detail.checked ? "yes" : undefined })}
              >
                Show steps of workflows
              </Checkbox>
            </SpaceBetween>
            {partly && (
              <Button variant="inline-link" loading={all.reading !== null} onClick={all.begin}>
                {all.reading !== null
                  ? `${all.reading.toLocaleString("en-GB")} jobs read`
                  : `Select all jobs${filtered ? " that match" : ""}`}
              </Button>
            )}
          </SpaceBetween>
        }
        preferences={
          <CollectionPreferences
            title="Table"
            confirmLabel="Confirm"
            cancelLabel="Cancel"
            preferences={columns}
            onConfirm={({
              detail: { pageSize = columns.pageSize, contentDisplay = columns.contentDisplay },
            }) => setColumns({ pageSize, contentDisplay })}
            pageSizePreference={{
              title: "Jobs per page",
              options: [{ value: 20 }, { value: 50 }, { value: 100 }],
            }}
            contentDisplayPreference={{
              title: "Columns",
              options: definitions.map((each) => ({
                id: each.id as string,
                label: typeof each.header === "string" ? each.header : "Next occurrence",
                alwaysVisible: each.id === "id",
              })),
            }}
          />
        }
        empty={
          filtered ? (
            <SpaceBetween size="s">
              <div>No jobs match.{choices.steps === undefined && " Steps of workflows are not shown."}</div>
              <Button onClick={showAll}>Show all jobs</Button>
            </SpaceBetween>
          ) : (
            <SpaceBetween size="s">
              <div>There are no jobs yet. A job has a schedule and a target.</div>
              {refusal === undefined && <Button href="#/jobs/new">Create job</Button>}
            </SpaceBetween>
          )
        }
      />
    </>
  );
}

/** The suggestions of the search: states, and the tags and owners of the loaded jobs. */
function optionsOf(jobs: readonly Job[]) {
  const owners = new Set(jobs.map((job) => job.owner).filter((owner) => owner !== ""));
  const tags = new Set(jobs.flatMap((job) => job.tags));
  return [
    ...["ACTIVE", "PAUSED", "COMPLETED"].map((value) => ({ propertyKey: "state", value })),
    ...[...tags].map((value) => ({ propertyKey: "tag", value })),
    ...[...owners].map((value) => ({ propertyKey: "owner", value })),
  ];
}
