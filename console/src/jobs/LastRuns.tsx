import "../shared/colors.css";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { fetcher, LIVE, type Schemas } from "../api/client";
import { inZone } from "../shared/time";
import { atMost } from "./many";
import { stripText } from "./texts";

const MARKS: Record<string, { color: string; height: number }> = {
  SUCCEEDED: { color: "var(--dc-success)", height: 16 },
  DEAD: { color: "var(--dc-error)", height: 16 },
  RETRYING: { color: "var(--dc-warning)", height: 12 },
  RUNNING: { color: "var(--dc-info)", height: 12 },
  WAITING: { color: "var(--dc-info)", height: 12 },
  QUEUED: { color: "var(--dc-inactive)", height: 8 },
};
const OTHER = { color: "var(--dc-inactive)", height: 5 };
const OVER = new Set(["SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]);

// A page of jobs must not take the requests of everybody else of the tenant.
const limited = atMost(4);

/** A job's last ten runs as marks, read while they can be seen, and again when the job has moved on. */
export function LastRuns({ job }: { job: Schemas["Job"] }) {
  const place = useRef<HTMLSpanElement>(null);
  const seen = useSeen(place);
  const { data, isError } = useQuery({
    queryKey: ["jobs", "last runs", job.id, job.next_occurrence],
    queryFn: ({ signal }) =>
      limited(async () => {
        const params = { path: { job_id: job.id }, query: { limit: 10, to: new Date().toISOString() } };
        const answer = await fetcher.GET("/v1/jobs/{job_id}/runs", { params, signal });
        return (answer.data?.items ?? []).toReversed();
      }),
    enabled: seen,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    refetchInterval: ({ state }) => (state.data?.every((run) => OVER.has(run.state)) ? false : 2 * LIVE),
  });
  return (
    <span ref={place}>
      {isError ? (
        "unknown"
      ) : data === undefined ? (
        "…"
      ) : data.length === 0 ? (
        "-"
      ) : (
        <span role="img" aria-label={stripText(data.map((run) => run.state))} className="nowrap">
          {data.map((run) => {
            const { color, height } = MARKS[run.state] ?? OTHER;
            return (
              <span
                key={run.id}
                title={`${run.state} ${inZone(run.occurrence, job.timezone)}`}
                style={{
                  display: "inline-block",
                  inlineSize: run.state === "DEAD" ? 8 : 5,
                  blockSize: height,
                  marginInlineEnd: 2,
                  borderRadius: 1,
                  background: color,
                }}
              />
            );
          })}
        </span>
      )}
    </span>
  );
}

/** Whether something is on the screen. */
function useSeen(place: { current: Element | null }): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (place.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      setSeen(entries.at(-1)?.isIntersecting ?? false);
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [place]);
  return seen;
}
