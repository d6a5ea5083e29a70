import { useQuery } from "@tanstack/react-query";
import { fetcher, type Schemas } from "../api/client";
import { useNow } from "../shared/Instant";
import { type FailedJob, failedJobs } from "./failed";
import { byHour, firstHour, type Hour } from "./outcomes";

const EVERY = 10_000;
const PAGES = 5;
const PAGE = 100;

export interface Unsuccessful {
  since: string;
  hours: Hour[];
  failed: FailedJob[];
  /** There are more than were read: counts are lower bounds. */
  cut: boolean;
}

/** The runs of the last 24 hours that did not succeed, by hour, and the jobs that failed. */
export function useUnsuccessful() {
  const now = useNow(EVERY);
  const since = new Date(firstHour(now)).toISOString().replace(".000Z", "Z");
  return useQuery<Unsuccessful>({
    queryKey: ["unsuccessful", since],
    refetchInterval: EVERY,
    queryFn: async ({ signal }) => {
      const runs: Schemas["Run"][] = [];
      let cursor: string | undefined;
      for (let page = 0; page < PAGES && (page === 0 || cursor !== undefined); page += 1) {
        const query = { since, limit: PAGE, cursor };
        const { data } = await fetcher.GET("/v1/runs", { params: { query }, signal });
        runs.push(...(data?.items ?? []));
        cursor = data?.next_cursor ?? undefined;
      }
      return { since, hours: byHour(runs, now), failed: failedJobs(runs), cut: cursor !== undefined };
    },
  });
}
