import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import TextFilter from "@cloudscape-design/components/text-filter";
import { api } from "../api/client";
import { OVERVIEW, paced } from "../api/polling";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { Rows } from "../shared/Rows";
import { useFilters } from "../shared/useFilters";
import { useSearchText } from "../shared/useSearchText";
import { useSlices } from "../shared/useSlices";
import { counted, matching, STATUSES } from "./workers";

const PAGE = 50;
const TYPES: Record<string, StatusIndicatorProps.Type> = {
  working: "in-progress",
  seen: "success",
  silent: "error",
};

/** The pull workers that named themselves in the last hour. */
export default function WorkersPage() {
  const found = api.useQuery("get", "/v1/workers", {}, { refetchInterval: () => paced(OVERVIEW) });
  const [{ search = "" }, change] = useFilters(["search", "page"]);
  const typed = useSearchText(search, (text) => change({ search: text, page: undefined }));
  const rows = matching(found.data?.items ?? [], typed.text);
  const slice = useSlices(rows, PAGE);
  return (
    <SpaceBetween size="l">
      <ProblemBox error={found.error} retry={() => void found.refetch()} />
      {found.data?.complete === false && (
        <Alert type="warning">
          Some workers may be missing: too many names in the last hour, or their jobs are not in your scope.
        </Alert>
      )}
      <Rows
        items={slice.items}
        trackBy="name"
        loading={found.isPending}
        loadingText="Loading workers"
        ariaLabels={{ tableLabel: "Workers" }}
        header={
          <Header
            variant="h1"
            counter={found.data && `(${found.data.items.length})`}
            description="Programs that process the runs of a queue and named themselves in the last hour. Each is noted once in ten minutes; its status refers to the run of its note."
          >
            Workers
          </Header>
        }
        filter={
          (found.data?.items.length ?? 0) > 0 && (
            <TextFilter
              filteringText={typed.text}
              filteringPlaceholder="Find workers by name, job or status"
              filteringAriaLabel="Find workers by name, job or status"
              countText={counted(rows.length)}
              onChange={({ detail }) => typed.setText(detail.filteringText)}
              onDelayedChange={({ detail }) => typed.send(detail.filteringText)}
            />
          )
        }
        pagination={slice.pagination}
        empty={
          found.error === null && (
            <Box color="text-body-secondary">
              {found.data?.items.length
                ? "No workers match. Change the text."
                : "No worker has named itself in the last hour. A worker without runs is not listed."}
            </Box>
          )
        }
        columnDefinitions={[
          {
            id: "name",
            header: "Worker",
            isRowHeader: true,
            width: 230,
            grow: 2,
            cell: (each) => <span className="text">{each.name}</span>,
          },
          {
            id: "status",
            header: "Status",
            width: 120,
            card: 50,
            cell: (each) => (
              <StatusIndicator type={TYPES[each.status] ?? "info"}>
                {STATUSES[each.status] ?? each.status}
              </StatusIndicator>
            ),
          },
          {
            id: "seen",
            header: "Seen",
            width: 190,
            card: 50,
            labelled: true,
            cell: (each) => <Time at={each.seen_at} />,
          },
          {
            id: "run",
            header: "Run of its note",
            width: 280,
            grow: 1,
            card: 100,
            labelled: true,
            cell: (each) => (
              <span className="text">
                <Link href={to.run(each.run_id)}>{each.run_id}</Link>
              </span>
            ),
          },
          {
            id: "runs",
            header: "Runs",
            width: 110,
            card: 100,
            cell: (each) => (
              <Link
                href={`#/runs?worker=${encodeURIComponent(each.name)}`}
                ariaLabel={`All runs of the worker ${each.name}`}
              >
                All runs
              </Link>
            ),
          },
        ]}
      />
    </SpaceBetween>
  );
}
