import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Schemas } from "../api/client";
import { useZone } from "../shared/clock";
import { clockNote } from "../shared/clockNote";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { Rows } from "../shared/Rows";
import { Zoned } from "../shared/Zoned";
import { readPreview, readRuns } from "./reading";

const SHOWN = 10;

/** The next ten occurrences, the effects of daylight saving time, and those that will not run. */
export function NextTab({ job }: { job: Schemas["Job"] }) {
  const zone = useZone(job.timezone);
  const query = useQuery({
    queryKey: ["next", job.id, job.updated_at, job.next_occurrence],
    queryFn: async ({ signal }) => {
      const resumes = job.paused_until === null ? 0 : Date.parse(job.paused_until) - 1_000;
      const after = new Date(Math.max(Date.now(), resumes)).toISOString();
      const [coming, runs] = await Promise.all([
        readPreview(job, after, SHOWN, signal),
        readRuns(job.id, { from: after, state: "SKIPPED" }, signal),
      ]);
      return { coming, skipped: new Set(runs.items.map((run) => Date.parse(run.occurrence))) };
    },
    placeholderData: keepPreviousData,
    enabled: job.schedule !== null,
  });
  if (job.schedule === null)
    return <Box>The job has no schedule: it runs on demand or with its workflow.</Box>;
  if (query.error !== null) return <ProblemBox error={query.error} retry={() => void query.refetch()} />;
  const fate = (at: string | null) => {
    if (at === null) return "";
    return query.data?.skipped.has(Date.parse(at)) ? "Skipped on request." : "";
  };
  const noteOf = (each: Schemas["Occurrence"]) =>
    [clockNote(each, job.timezone), fate(each.at)].filter(Boolean).join(" ");
  return (
    <SpaceBetween size="m">
      {job.state !== "ACTIVE" && (
        <Alert>
          {job.state !== "PAUSED" ? (
            "The job is completed."
          ) : job.paused_until === null ? (
            "The job is paused. Occurrences during the pause do not run, unless the pause ends with a catch-up."
          ) : (
            <>
              The job is paused until <Time at={job.paused_until} zone={job.timezone} />. Occurrences before
              that do not run, unless the pause ends with a catch-up.
            </>
          )}
        </Alert>
      )}
      <Rows
        variant="embedded"
        ariaLabels={{ tableLabel: "Next occurrences" }}
        items={query.data?.coming ?? []}
        loading={query.isPending}
        loadingText="Loading"
        empty="There are no upcoming occurrences."
        wrapLines
        columnDefinitions={[
          {
            id: "wall",
            header: <Zoned text="Job's time zone" zone={job.timezone} />,
            isRowHeader: true,
            width: 250,
            cell: (each) => each.wall.replace("T", " "),
          },
          ...(zone === job.timezone
            ? []
            : [
                {
                  id: "at",
                  header: <Zoned text="Selected time zone" zone={zone} />,
                  width: 190,
                  card: 60,
                  cell: (each: Schemas["Occurrence"]) => <Time at={each.at} zone={job.timezone} bare />,
                },
              ]),
          { id: "in", header: "From now", width: 110, card: 40, cell: (each) => <Time at={each.at} brief /> },
          {
            id: "note",
            header: "Note",
            width: 200,
            grow: 1,
            card: 100,
            wraps: true,
            has: (each) => noteOf(each) !== "",
            cell: (each) => <span className="text">{noteOf(each) || "-"}</span>,
          },
        ]}
      />
    </SpaceBetween>
  );
}
