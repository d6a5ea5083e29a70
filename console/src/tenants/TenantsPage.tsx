import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Pagination from "@cloudscape-design/components/pagination";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import TextFilter from "@cloudscape-design/components/text-filter";
import { useRefusal, useStage } from "../app/context";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { type Column, Rows } from "../shared/Rows";
import { duration } from "../shared/time";
import { useFilters } from "../shared/useFilters";
import { useSearchText } from "../shared/useSearchText";
import { percent } from "../stage/metrics";
import { Objectives } from "../stage/Objectives";
import { cost, LARGEST_FIRST, listed, type Tenant } from "./tenants";
import { useTenants } from "./useTenants";

const PAGE = 50;

const STATES: Record<string, StatusIndicatorProps.Type> = {
  active: "success",
  suspended: "stopped",
  erased: "info",
};

const number = (count: number) => count.toLocaleString("en-GB");

/** All tenants of the stage, for its operators. */
export default function TenantsPage() {
  const { settings } = useStage();
  const refused = useRefusal("ops");
  const query = useTenants({ live: true });
  const [{ search = "", page, sort, order: way }, change] = useFilters(["search", "page", "sort", "order"]);
  const typed = useSearchText(search, (text) => change({ search: text }));
  const order =
    sort === undefined ? LARGEST_FIRST : { field: sort as keyof Tenant, descending: way === "desc" };
  if (settings.operator_view !== true || refused !== undefined) {
    return (
      <SpaceBetween size="l">
        <Header variant="h1">Tenants</Header>
        <Alert type="info" header="This list is for operators of the stage">
          {refused ??
            "This stage has no operator tenant. To choose one, set operator_tenant in its settings and deploy the stage."}
        </Alert>
      </SpaceBetween>
    );
  }
  const found = query.data;
  const rows = listed(found?.tenants ?? [], typed.text, order);
  const pages = Math.max(Math.ceil(rows.length / PAGE), 1);
  const shown = Math.min(Number(page ?? 1) || 1, pages);
  const columns = columnsOf(found?.quota ?? 0);
  const header = (
    <Header
      variant="h1"
      counter={found && `(${number(found.tenants.length)})`}
      description={
        found &&
        (found.as_of === null ? (
          "Jobs have not been counted yet. A daily check counts them."
        ) : (
          <>
            Jobs were counted at <Time at={found.as_of} />. Each tenant can have {number(found.quota)} jobs.
          </>
        ))
      }
    >
      Tenants
    </Header>
  );
  if (query.error !== null && found === undefined) {
    return (
      <SpaceBetween size="l">
        {header}
        <ProblemBox error={query.error} retry={() => void query.refetch()} />
      </SpaceBetween>
    );
  }
  return (
    <SpaceBetween size="l">
      <ProblemBox error={query.error} retry={() => void query.refetch()} />
      {found?.all_runs_counted === false && (
        <Alert type="info">Not all runs in progress were counted, so the actual numbers may be higher.</Alert>
      )}
      <Rows<Tenant>
        variant="full-page"
        stickyHeader
        ariaLabels={{ tableLabel: "Tenants" }}
        header={header}
        items={rows.slice((shown - 1) * PAGE, shown * PAGE)}
        trackBy={(each) => each.tenant ?? ""}
        loading={query.isPending}
        loadingText="Loading"
        columnDefinitions={columns}
        sortingColumn={columns.find(({ id }) => id === order.field)}
        sortingDescending={order.descending}
        onSortingChange={({ detail }) =>
          change({
            sort: detail.sortingColumn.sortingField,
            order: detail.isDescending === true ? "desc" : undefined,
          })
        }
        filter={
          <TextFilter
            filteringText={typed.text}
            filteringPlaceholder="Find tenants by a part of their name"
            filteringAriaLabel="Find tenants by a part of their name"
            countText={`${number(rows.length)} ${rows.length === 1 ? "match" : "matches"}`}
            onChange={({ detail }) => typed.setText(detail.filteringText)}
            onDelayedChange={({ detail }) => typed.send(detail.filteringText)}
          />
        }
        pagination={
          pages > 1 && (
            <Pagination
              currentPageIndex={shown}
              pagesCount={pages}
              onChange={({ detail }) => change({ page: String(detail.currentPageIndex) })}
            />
          )
        }
        empty={
          <Box textAlign="center" color="text-body-secondary" padding="s">
            {typed.text === "" ? "No tenant has jobs yet." : "No tenants match. Change the text."}
          </Box>
        }
      />
      {found?.objectives && <Objectives objectives={found.objectives} />}
    </SpaceBetween>
  );
}

function columnsOf(quota: number): Column<Tenant>[] {
  type Count = "jobs" | "paused" | "running" | "waiting" | "runs_per_day";
  const count = (field: Count, header: string, width: number, more: Partial<Column<Tenant>> = {}) => ({
    id: field,
    header,
    width,
    sortingField: field,
    card: 50,
    labelled: true,
    cell: (each: Tenant) => number(each[field]),
    ...more,
  });
  return [
    {
      id: "tenant",
      header: "Tenant",
      isRowHeader: true,
      width: 150,
      grow: 1,
      sortingField: "tenant",
      cell: ({ tenant }) => (
        <span className="text" title={tenant ?? undefined}>
          {tenant ?? "All others"}
        </span>
      ),
    },
    {
      id: "state",
      header: "State",
      width: 142,
      sortingField: "state",
      card: 50,
      cell: ({ state }) => <StatusIndicator type={STATES[state] ?? "info"}>{state}</StatusIndicator>,
    },
    count("jobs", "Jobs", 90),
    count("paused", "Paused", 110, { spare: true }),
    {
      id: "quota_used",
      header: "Quota",
      width: 110,
      sortingField: "quota_used",
      card: 50,
      labelled: true,
      cell: (each) => (each.tenant === null || quota === 0 ? "-" : percent(each.quota_used / quota, 0)),
    },
    count("running", "Running", 128, { spare: true }),
    count("waiting", "Waiting", 124),
    {
      id: "oldest_waiting_seconds",
      header: "Longest wait",
      width: 118,
      sortingField: "oldest_waiting_seconds",
      card: 100,
      labelled: true,
      has: (each) => each.oldest_waiting_seconds !== null,
      cell: ({ oldest_waiting_seconds: waits }) => (waits === null ? "-" : duration(waits)),
    },
    count("runs_per_day", "Runs/day", 132, { card: 100 }),
    {
      id: "dollars_per_day",
      header: "Cost/day",
      width: 130,
      sortingField: "dollars_per_day",
      card: 100,
      labelled: true,
      cell: (each) => cost(each.dollars_per_day),
    },
  ];
}
