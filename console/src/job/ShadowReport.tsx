import Badge from "@cloudscape-design/components/badge";
import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import { api, type Schemas } from "../api/client";
import { OVERVIEW, paced } from "../api/polling";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { Rows } from "../shared/Rows";

const STATUSES: Record<string, [StatusIndicatorProps.Type, string]> = {
  agrees: ["success", "Both schedules agree"],
  disagrees: ["error", "The schedules disagree"],
  no_pings: ["warning", "No pings: the other scheduler is probably not connected"],
  waits: ["pending", "Nothing could be compared yet"],
};

const KINDS: Record<string, string> = {
  missing: "No ping: only Duecourse would run",
  extra: "Ping: only the other scheduler ran",
};

/** The mark of a job that is a shadow of another scheduler. */
export function ShadowBadge({ since }: { since: string | null | undefined }) {
  return since ? <Badge color="blue">Shadow</Badge> : null;
}

/** How a shadow job compares with the pings of the other scheduler in the last seven days. */
export function ShadowReport({ job }: { job: Schemas["Job"] }) {
  const { data, error, isPending, refetch } = api.useQuery(
    "get",
    "/v1/jobs/{job_id}/shadow",
    { params: { path: { job_id: job.id } } },
    { refetchInterval: () => paced(OVERVIEW) },
  );
  const [type, status] = STATUSES[data?.status ?? ""] ?? ["info", data?.status ?? ""];
  return (
    <SpaceBetween size="s">
      <ProblemBox error={error} retry={() => void refetch()} />
      <Rows
        items={data?.disagreements ?? []}
        trackBy={(each) => `${each.at} ${each.kind}`}
        loading={isPending}
        loadingText="Loading the comparison"
        ariaLabels={{ tableLabel: "Disagreements with the other scheduler" }}
        header={
          <Header
            variant="h2"
            description={
              data && (
                <>
                  <StatusIndicator type={type}>{status}</StatusIndicator>
                  <div>
                    {summary(data)} Compared since <Time at={data.begin} zone={job.timezone} />.
                  </div>
                </>
              )
            }
          >
            Comparison with the other scheduler
          </Header>
        }
        empty={error === null && <Box color="text-body-secondary">No disagreement is listed.</Box>}
        columnDefinitions={[
          {
            id: "at",
            header: "Time",
            isRowHeader: true,
            width: 330,
            cell: (each) => <Time at={each.at} zone={job.timezone} />,
          },
          {
            id: "kind",
            header: "Disagreement",
            width: 300,
            grow: 1,
            card: 100,
            cell: (each) => KINDS[each.kind] ?? each.kind,
          },
        ]}
      />
    </SpaceBetween>
  );
}

function summary(found: Schemas["Shadow"]): string {
  const counts: [number, string][] = [
    [found.agreed, "agreed"],
    [found.missing, "missing"],
    [found.extra, "extra"],
    [found.undecided, "undecided"],
    [found.before_first_ping, "before the first ping"],
  ];
  const shown = counts.filter(([count], place) => place < 3 || count > 0);
  const more = found.missing + found.extra - found.disagreements.length;
  const latest =
    found.lateness === null ? "" : ` The latest ping came after ${found.lateness.most_seconds} s.`;
  const rest = more > 0 ? ` ${more.toLocaleString("en")} disagreements are not listed.` : "";
  const whole = found.complete
    ? ""
    : " The compared time was shortened, because there are too many occurrences.";
  return `${shown.map(([count, word]) => `${count.toLocaleString("en")} ${word}`).join(", ")}.${latest}${rest}${whole}`;
}
