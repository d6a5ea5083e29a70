import Alert, { type AlertProps } from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, type Schemas } from "../api/client";
import { to } from "../app/routes";
import { useZone } from "../shared/clock";
import { ProblemBox } from "../shared/ProblemBox";
import { inZone, wall, zoned } from "../shared/time";
import { useFilters } from "../shared/useFilters";
import { WhenInput, whenAt, whenOf } from "../shared/WhenInput";
import { lastNight, worst } from "./night";
import { occurrences } from "./occurrences";
import { readExpected, readLast, readRuns } from "./reading";
import { verdictText } from "./reasons";
import { count, dayOf, summary } from "./timeline";

/** The choices other than an instant. */
export const LAST = "last-occurrence";
export const NIGHT = "last-night";

/** Why a job ran at an instant, or did not. The question is in the address. */
export function WhyTab({ job }: { job: Schemas["Job"] }) {
  const zone = useZone(job.timezone);
  const [{ at }, change] = useFilters(["at"]);
  const asked = at === LAST || at === NIGHT ? undefined : at;
  const [when, setWhen] = useState(whenAt(asked, zone));
  const [refused, setRefused] = useState(false);
  useEffect(() => {
    setWhen(whenAt(asked, zone));
    setRefused(false);
  }, [asked, zone]);
  const instant = whenOf(when, zone);
  return (
    <SpaceBetween size="m">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setRefused(instant === null);
          if (instant !== null) change({ at: instant });
        }}
      >
        <SpaceBetween direction="horizontal" size="s" alignItems="end">
          <WhenInput
            when={when}
            zone={zone}
            error={refused ? "Choose a date and a time." : undefined}
            onChange={setWhen}
          />
          <Button formAction="submit">Explain</Button>
          <Button formAction="none" onClick={() => change({ at: LAST })}>
            Last occurrence
          </Button>
          <Button formAction="none" onClick={() => change({ at: NIGHT })}>
            Last night
          </Button>
        </SpaceBetween>
      </form>
      <section aria-label="Explanation" aria-live="polite">
        {at === LAST ? (
          <LastOccurrence job={job} />
        ) : at === NIGHT ? (
          <LastNight job={job} />
        ) : (
          at !== undefined && <Answer job={job} at={at} />
        )}
      </section>
    </SpaceBetween>
  );
}

function LastOccurrence({ job }: { job: Schemas["Job"] }) {
  const last = useQuery({
    queryKey: ["last occurrence", job.id],
    queryFn: async ({ signal }) => {
      const [run] = await readLast(job.id, 1, signal);
      const from = run?.occurrence ?? job.created_at;
      const expected = await readExpected(job, { from, to: new Date().toISOString() }, signal);
      return expected.instants.at(-1) ?? run?.occurrence ?? null;
    },
  });
  if (last.error !== null) return <ProblemBox error={last.error} retry={() => void last.refetch()} />;
  if (last.data === undefined) return <Loading />;
  if (last.data === null) return <Box>The job has had no occurrence yet.</Box>;
  return <Answer job={job} at={last.data} />;
}

function LastNight({ job }: { job: Schemas["Job"] }) {
  const zone = useZone(job.timezone);
  const [now] = useState(() => Date.now());
  const night = lastNight(now, job.timezone);
  const found = useQuery({
    queryKey: ["night", job.id, job.updated_at, night],
    queryFn: async ({ signal }) => {
      const [runs, expected] = await Promise.all([
        readRuns(job.id, night, signal),
        readExpected(job, night, signal),
      ]);
      const instants = runs.more ? [] : expected.instants;
      return occurrences(runs.items, instants, { now, grace: job.missed.grace_seconds });
    },
  });
  if (found.error !== null) return <ProblemBox error={found.error} retry={() => void found.refetch()} />;
  if (found.data === undefined) return <Loading />;
  const first = worst(found.data);
  const timeline = `${to.job(job.id)}?tab=timeline&zoom=day&until=${dayOf(night.to, zone)}`;
  return (
    <SpaceBetween size="s">
      <Box>
        From {wall(night.from, zone)} to {inZone(night.to, zone)}:{" "}
        {summary(count(found.data)) || "no occurrences"}.{" "}
        {found.data.length > 1 && <Link href={timeline}>View the timeline</Link>}
      </Box>
      <Answer job={job} at={first?.at ?? night.to} />
    </SpaceBetween>
  );
}

function Answer({ job, at }: { job: Schemas["Job"]; at: string }) {
  const zone = useZone(job.timezone);
  const { data, error, refetch } = api.useQuery("get", "/v1/jobs/{job_id}/explain", {
    params: { path: { job_id: job.id }, query: { at } },
  });
  if (error !== null) return <ProblemBox error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const { before, after } = data.nearest;
  return (
    <Alert
      type={typeOf(data)}
      header={`${inZone(data.at, zone)}: ${verdictText(data.verdict, data.run?.state)}`}
    >
      <div className="text">{zoned(data.sentence, zone)}</div>
      {data.run !== null && <Link href={to.run(data.run.id)}>Run {data.run.id}</Link>}
      <div>
        {before !== null && (
          <Link href={why(job.id, before)}>Previous occurrence: {inZone(before, zone)}</Link>
        )}
      </div>
      <div>
        {after !== null && <Link href={why(job.id, after)}>Next occurrence: {inZone(after, zone)}</Link>}
      </div>
    </Alert>
  );
}

function typeOf({ verdict, run }: Schemas["Explained"]): AlertProps.Type {
  if (run?.state === "SUCCEEDED") return "success";
  if (run?.state === "DEAD" || verdict === "lost") return "error";
  return verdict === "late" ? "warning" : "info";
}

const Loading = () => <StatusIndicator type="loading">Loading</StatusIndicator>;

/** The address of this tab for an instant. */
export function why(jobId: string, at: string): string {
  return `${to.job(jobId)}?tab=why&at=${encodeURIComponent(at)}`;
}
