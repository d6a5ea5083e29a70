import "../shared/colors.css";
import "./recent.css";
import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { LIST, paced } from "../api/polling";
import { to } from "../app/routes";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { duration } from "../shared/time";
import { inWords, KINDS, type Occurrence, occurrences, recent } from "./occurrences";
import { readExpected, readLast } from "./reading";
import { Legend, LOOKS, Shape } from "./TimelineDrawing";
import { count, summary } from "./timeline";
import { useRoving } from "./useRoving";
import { why } from "./WhyTab";

const SHOWN = 60;
/** The heights of the bars (px). */
const TALL = 40;
const LOW = 20;

/** The last 60 occurrences with their outcome, duration and lateness. */
export function RecentTab({ job }: { job: Schemas["Job"] }) {
  const runs = useQuery({
    queryKey: ["recent", job.id],
    queryFn: ({ signal }) => readLast(job.id, SHOWN, signal),
    refetchInterval: () => paced(LIST),
  });
  const oldest = runs.data?.length === SHOWN ? runs.data.at(-1)?.occurrence : job.created_at;
  // The earlier schedule may have named others.
  const from = oldest === undefined || oldest < job.updated_at ? job.updated_at : oldest;
  const expected = useQuery({
    queryKey: ["recently expected", job.id, from, runs.data?.[0]?.id],
    queryFn: ({ signal }) => readExpected(job, { from, to: new Date().toISOString() }, signal),
    enabled: runs.data !== undefined && job.schedule !== null && job.state === "ACTIVE",
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (runs.data === undefined) {
    if (runs.error !== null) return <ProblemBox error={runs.error} retry={() => void runs.refetch()} />;
    return <StatusIndicator type="loading">Loading the last occurrences</StatusIndicator>;
  }
  const instants = expected.data?.complete ? expected.data.instants : [];
  const rules = { now: Date.now(), grace: job.missed.grace_seconds };
  const shown = recent(occurrences(runs.data, instants, rules), SHOWN);
  return (
    <SpaceBetween size="m">
      <ProblemBox error={runs.error ?? expected.error} retry={() => void runs.refetch()} />
      {shown.length === 0 ? <NotYet job={job} /> : <Grid job={job} shown={shown} />}
    </SpaceBetween>
  );
}

function NotYet({ job }: { job: Schemas["Job"] }) {
  return (
    <Box color="text-body-secondary">
      The job has not run yet.{" "}
      {job.next_occurrence === null ? (
        "To start a run, choose Run now."
      ) : (
        <>
          The first occurrence is <Time at={job.next_occurrence} zone={job.timezone} />.
        </>
      )}
    </Box>
  );
}

function Grid({ job, shown }: { job: Schemas["Job"]; shown: readonly Occurrence[] }) {
  const zone = useZone(job.timezone);
  const [pointed, point] = useState<number | null>(null);
  const { current, choose, onKeyDown } = useRoving(shown.length, shown.length - 1);
  const longest = Math.max(...shown.map((each) => each.took ?? 0));
  const latest = Math.max(...shown.map((each) => each.lateness ?? 0));
  const counted = count(shown);
  const described = shown[pointed ?? current];
  const total = shown.reduce((all, each) => all + each.count, 0);
  return (
    <SpaceBetween size="s">
      <Box>
        {total === 1 ? "The only occurrence" : `The last ${total} occurrences`}
        {total > shown.length && ` (${shown.length} ${shown.length === 1 ? "run" : "runs"})`}
        {shown.length > 1 && ", oldest first"}: {summary(counted)}
      </Box>
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing has no fieldset */}
      <div
        role="group"
        aria-label={`Last occurrences: ${summary(counted)}`}
        className="recent"
        onKeyDown={onKeyDown}
        onMouseLeave={() => point(null)}
      >
        {shown.map((one, index) => (
          <a
            key={`${one.at} ${one.run}`}
            href={one.run === null ? why(job.id, one.at) : to.run(one.run)}
            aria-label={inWords(one, zone)}
            tabIndex={index === current ? 0 : -1}
            onFocus={() => choose(index)}
            onMouseEnter={() => point(index)}
          >
            <span className="recent-took" style={{ blockSize: TALL }}>
              <Bar seconds={one.took} most={longest} height={TALL} color={LOOKS[one.kind].color} />
            </span>
            <svg width={16} height={16} viewBox="-8 -8 16 16" aria-hidden="true">
              <Shape kind={one.kind} />
            </svg>
            <span className="recent-late" style={{ blockSize: LOW }}>
              <Bar
                seconds={one.lateness}
                most={Math.max(latest, 1)}
                height={LOW}
                color={one.kind === "late" ? "var(--dc-warning)" : "var(--dc-inactive)"}
              />
            </span>
          </a>
        ))}
      </div>
      {described !== undefined && (
        <Box>
          <span className="text" aria-hidden="true">
            {inWords(described, zone)}
          </span>
        </Box>
      )}
      <Legend kinds={KINDS.filter((kind) => counted.has(kind))} />
      <Box color="text-body-secondary" fontSize="body-s">
        The bars above the symbols show the duration (up to {duration(longest)}); the bars below them show the
        lateness (up to {duration(latest)}). Runs count as late after {duration(job.missed.grace_seconds)}.
      </Box>
    </SpaceBetween>
  );
}

function Bar({
  seconds,
  most,
  height,
  color,
}: {
  seconds: number | null;
  most: number;
  height: number;
  color: string;
}) {
  if (seconds === null) return null;
  const share = most === 0 ? 0 : seconds / most;
  return (
    <span className="recent-bar" style={{ blockSize: Math.max(2, share * height), background: color }} />
  );
}
