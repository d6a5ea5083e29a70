import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, fetcher, type Schemas } from "../api/client";
import { OVERVIEW, paced } from "../api/polling";
import { isComplete } from "../limits/texts";
import type { useLoad } from "../load/useLoad";
import type { Found, Read } from "./problems";

const PAGES = 5;
const PAGE = 100;
const DAY = 86_400_000;
/** The longest time (ms) between two reads of the dead runs, whose number is read more often. */
const LONG = 300_000;

interface Runs {
  items: Schemas["Run"][];
  cut: boolean;
}

/** What the overview reads about problems: each kind by itself, so that many runs in one state hide no others. */
export function useFound(stats: Schemas["Stats"] | undefined, load: ReturnType<typeof useLoad>) {
  const dead = useQuery({
    queryKey: ["overview", "dead", stats?.dead_runs],
    enabled: stats !== undefined,
    placeholderData: keepPreviousData,
    refetchInterval: () => paced(stats?.dead_runs.at_least ? OVERVIEW : LONG),
    queryFn: ({ signal }) => newest("DEAD", PAGES, signal, new Date(Date.now() - DAY)),
  });
  const retrying = useRuns("RETRYING");
  const active = useRuns("RUNNING,WAITING");
  const limits = api.useQuery(
    "get",
    "/v1/limits",
    { params: { query: { limit: PAGE } } },
    { refetchInterval: () => paced(OVERVIEW) },
  );
  const coming = (part: "late" | "silent"): Read<string> => ({
    items: load.data?.[part].ids,
    cut: load.data?.cut === true || (load.data?.[part].count ?? 0) > (load.data?.[part].ids.length ?? 0),
    at: load.dataUpdatedAt,
    failed: load.isError,
  });
  const found: Found = {
    overdue: coming("late"),
    silent: coming("silent"),
    dead: readOf(dead),
    stuck: readOf(active),
    breaker: {
      items: limits.data?.items,
      cut: limits.data?.next_cursor != null || !isComplete(limits.data),
      at: limits.dataUpdatedAt,
      failed: limits.isError,
    },
    retrying: readOf(retrying),
  };
  return { found, active };
}

/** The runs that the overview reads in one request. */
function useRuns(state: string) {
  return useQuery({
    queryKey: ["overview", state],
    refetchInterval: () => paced(OVERVIEW),
    queryFn: ({ signal }) => newest(state, 1, signal),
  });
}

function readOf(query: ReturnType<typeof useRuns>): Read<Schemas["Run"]> {
  const { data, dataUpdatedAt: at, isError: failed } = query;
  return { items: data?.items, cut: data?.cut === true, at, failed };
}

/** The newest runs that entered a state, since then. */
async function newest(state: string, pages: number, signal: AbortSignal, since?: Date): Promise<Runs> {
  const items: Schemas["Run"][] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages && (page === 0 || cursor !== undefined); page += 1) {
    const query = { state, since: since?.toISOString(), limit: PAGE, cursor };
    const { data } = await fetcher.GET("/v1/runs", { params: { query }, signal });
    items.push(...(data?.items ?? []));
    cursor = data?.next_cursor ?? undefined;
  }
  return { items, cut: cursor !== undefined };
}
