import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Schemas } from "../api/client";
import { LIST, paced } from "../api/polling";
import { to } from "../app/routes";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { useFilters } from "../shared/useFilters";
import { OccurrenceTable } from "./OccurrenceTable";
import { type Occurrence, occurrences } from "./occurrences";
import { PER_PAGE, readExpected, readRuns } from "./reading";
import { Legend, Timeline } from "./TimelineDrawing";
import { count, dayOf, layout, type Mark, moved, summary, windowOf, type Zoom } from "./timeline";
import { why } from "./WhyTab";

const ZOOMS = [
  { id: "day", text: "Day" },
  { id: "week", text: "Week" },
  { id: "month", text: "4 weeks" },
];

/** The outcomes of the occurrences of a day, a week or four weeks, and the upcoming ones. */
export function TimelineTab({ job }: { job: Schemas["Job"] }) {
  const [filters, change] = useFilters(["zoom", "until"]);
  const zoom = ZOOMS.some((each) => each.id === filters.zoom) ? (filters.zoom as Zoom) : "week";
  const zone = useZone(job.timezone);
  const window = windowOf(zoom, filters.until, Date.now(), zone);
  const expected = useQuery({
    queryKey: ["expected", job.id, job.updated_at, window],
    queryFn: ({ signal }) => readExpected(job, window, signal),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  const runs = useQuery({
    queryKey: ["timeline", job.id, window],
    queryFn: ({ signal }) => readRuns(job.id, { from: window.from, to: window.to }, signal),
    // A picture that requires ten requests is reloaded ten times as rarely.
    refetchInterval: ({ state }) =>
      paced(LIST * (1 + Math.floor((state.data?.items.length ?? 0) / PER_PAGE))),
    placeholderData: keepPreviousData,
  });
  const now = Date.now();
  const pending = runs.data === undefined || expected.data === undefined;
  const failed = runs.error ?? expected.error;
  if (failed !== null && pending) {
    const again = () => Promise.all([runs.refetch(), expected.refetch()]);
    return <ProblemBox error={failed} retry={() => void again()} />;
  }
  const more = runs.data?.more ?? false;
  // If runs were left out, occurrences without a loaded run would look like lost ones.
  const instants = (expected.data?.instants ?? []).filter((at) => !more || Date.parse(at) > now);
  const all = pending
    ? []
    : occurrences(runs.data?.items ?? [], instants, { now, grace: job.missed.grace_seconds });
  const address = (one: Occurrence) => (one.run === null ? why(job.id, one.at) : to.run(one.run));
  const addressOf = (mark: Mark) =>
    mark.count > 1 && zoom !== "day"
      ? `${to.job(job.id)}?tab=timeline&zoom=day&until=${dayOf(mark.first.at, zone)}`
      : address(mark.first);
  const said = summary(count(all)) || (pending ? "Loading" : "no occurrences");
  return (
    <SpaceBetween size="m">
      <SpaceBetween direction="horizontal" size="xs">
        <SegmentedControl
          label="Zoom"
          selectedId={zoom}
          options={ZOOMS}
          onChange={({ detail }) => change({ zoom: detail.selectedId })}
        />
        <Button
          iconName="angle-left"
          ariaLabel="Earlier"
          onClick={() => change({ until: moved(window, zoom, -1) })}
        />
        <Button
          iconName="angle-right"
          ariaLabel="Later"
          onClick={() => change({ until: moved(window, zoom, 1) })}
        />
        <Button disabled={filters.until === undefined} onClick={() => change({ until: undefined })}>
          Today
        </Button>
      </SpaceBetween>
      <Box>
        {window.firstDay === window.lastDay ? window.lastDay : `${window.firstDay} to ${window.lastDay}`},{" "}
        {zone}: {said}
      </Box>
      {job.state === "PAUSED" && (
        <Alert>
          The job is paused
          {job.paused_until !== null && (
            <>
              {" "}
              until <Time at={job.paused_until} zone={job.timezone} />
            </>
          )}
          . Occurrences during the pause do not run, unless the pause ends with a catch-up.
        </Alert>
      )}
      {(more || expected.data?.complete === false) && (
        <Alert>
          There are too many occurrences to display:{" "}
          {more ? "the oldest are not shown" : "past occurrences without a record are not shown"}. Zoom in.
        </Alert>
      )}
      {expected.data?.until && (
        <Alert>
          Upcoming occurrences are shown until <Time at={expected.data.until} zone={job.timezone} />. The
          schedule has further occurrences after that.
        </Alert>
      )}
      <Timeline
        layoutFor={(places) => layout(all, window, zoom, zone, places)}
        label={`Timeline: ${said}`}
        addressOf={addressOf}
      />
      <Legend />
      <Box color="text-body-secondary" fontSize="body-s">
        The timeline shows up to 1,000 runs, and up to 500 past occurrences of the current schedule.
      </Box>
      <ExpandableSection headerText="View as table">
        <OccurrenceTable all={all} zone={zone} addressOf={address} />
      </ExpandableSection>
    </SpaceBetween>
  );
}
