import { useQuery } from "@tanstack/react-query";
import { fetcher, type Schemas } from "../api/client";
import { useNow } from "../shared/Instant";
import { type FailedJob, failedJobs } from "./failed";
import { byHour, firstHour, type Hour, type Read, STATES, type State } from "./outcomes";

const EVERY = 10_000;
const PAGES = 5;
const PAGE = 100;

type Runs = Read<Schemas["Run"]>;

export interface Unsuccessful {
  since: string;
  hours: Hour[];
  failed: FailedJob[];
  /** Whether a state has more runs than were read: its counts are lower bounds. */
  cut: Record<State, boolean>;
}

/** The runs of the last 24 hours that did not succeed, by hour, and the jobs that failed. Each state is read by itself:
 * many runs in one state do not hide those in another.
 */
export function useUnsuccessful() {
  const now = useNow(EVERY);
  const since = new Date(firstHour(now)).toISOString().replace(".000Z", "Z");
  return useQuery<Unsuccessful>({
    queryKey: ["unsuccessful", since],
    refetchInterval: EVERY,
    queryFn: async ({ signal }) => {
      const found = await Promise.all(STATES.map((state) => newest(state, since, signal)));
      const read = Object.fromEntries(STATES.map((state, place) => [state, found[place]])) as Record<
        State,
        Runs
      >;
      const cut = Object.fromEntries(STATES.map((state) => [state, read[state].cut])) as Record<
        State,
        boolean
      >;
      return { since, hours: byHour(read, now), failed: failedJobs(read.DEAD.runs), cut };
    },
  });
}

/** The newest runs that entered this state since then. */
async function newest(state: State, since: string, signal: AbortSignal): Promise<Runs> {
  const runs: Schemas["Run"][] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES && (page === 0 || cursor !== undefined); page += 1) {
    const query = { state, since, limit: PAGE, cursor };
    const { data } = await fetcher.GET("/v1/runs", { params: { query }, signal });
    runs.push(...(data?.items ?? []));
    cursor = data?.next_cursor ?? undefined;
  }
  return { runs, cut: cursor !== undefined };
}
