import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { fetcher } from "../api/client";
import { paced } from "../api/polling";
import { useNow } from "../shared/Instant";
import { patiently } from "../shared/patiently";
import { type Load, loadOf, type Upcoming } from "./load";

const MINUTE = 60_000;
const TEN_MINUTES = 10 * MINUTE;
const HOUR = 60 * MINUTE;
/** Pages of about 400 jobs, or of 500 delayed runs, which follow the jobs. Further ones are not counted, because this
 * would take too long.
 */
const PAGES = 40;

export const BAR_MINUTES = 10;

/** The list that has the delayed runs. */
export const DELAYED = "#/runs?state=QUEUED";

export interface Coming extends Load {
  /** There are more jobs or delayed runs than were counted. */
  cut: boolean;
}

/** The runs that come due in the next hours, and which jobs are paused, late or do not fire: one walk through all
 * jobs. One page is walked every minute, more of them every ten. `soFar`: jobs looked at while it walks.
 */
export function useLoad(hours: number, enabled = true) {
  const now = useNow(MINUTE);
  const begin = Math.floor(now / TEN_MINUTES) * TEN_MINUTES;
  const client = useQueryClient();
  const query = useQuery<Coming & { pages: number }>({
    queryKey: ["load", hours, begin],
    enabled,
    placeholderData: keepPreviousData,
    staleTime: MINUTE,
    retry: false, // Each page is retried separately: the walk must not restart.
    refetchInterval: ({ state }) =>
      state.data !== undefined && state.data.pages > 1 ? false : paced(MINUTE),
    queryFn: async ({ signal }) => {
      const window = {
        from: new Date(begin).toISOString(),
        to: new Date(begin + hours * HOUR).toISOString(),
        step: 60,
      };
      const pages: Upcoming[] = [];
      client.setQueryData(SO_FAR, 0);
      let cursor: string | undefined;
      do {
        const query = { ...window, cursor };
        const { data } = await patiently(
          () => fetcher.GET("/v1/upcoming", { params: { query }, signal }),
          signal,
        );
        if (data !== undefined) pages.push(data);
        cursor = data?.next_cursor ?? undefined;
        client.setQueryData(
          SO_FAR,
          pages.reduce((all, page) => all + page.jobs, 0),
        );
      } while (cursor !== undefined && pages.length < PAGES);
      return { ...loadOf(pages, BAR_MINUTES), cut: cursor !== undefined, pages: pages.length };
    },
  });
  const soFar = useQuery<number>({ queryKey: SO_FAR, enabled: false, initialData: 0 });
  return { ...query, soFar: soFar.data };
}

const SO_FAR = ["load so far"];
