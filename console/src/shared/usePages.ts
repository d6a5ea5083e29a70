import { type QueryKey, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { LIST, paced } from "../api/polling";
import { patiently } from "./patiently";
import { useFilters } from "./useFilters";

/** A list with a filter may have pages without anything, which go on: so many are passed over at once. */
const PASSED_OVER = 20;
/** The reload interval of a page that took more than one request (ms). */
const LONG = 60_000;
/** The highest number in an address of a page that this tab has not reached: pages are found one after the other. */
const MOST = 50;

interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

export interface Pages<Item, P extends Page<Item> = Page<Item>> {
  items: readonly Item[];
  /** The response that is shown, with its other fields. */
  page: P | undefined;
  loading: boolean;
  error: unknown;
  refresh(): void;
  /** For Cloudscape's Pagination: how many pages are known, and whether there are more. */
  pagination: { currentPageIndex: number; pagesCount: number; openEnd: boolean };
  turn(page: number): void;
}

/** The cursors of the pages of each list that this tab has seen, the first page's (none) included. */
const seen = new Map<string, (string | undefined)[]>();

/** A list that the API returns page by page, with a cursor for the next one; the current page, whose number is in the
 * address, is reloaded while the tab is visible. `key` identifies the list. While another page is read, the rows of the
 * previous one stay.
 */
export function usePages<Item, P extends Page<Item>>(
  key: QueryKey,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<P & Page<Item>>,
): Pages<Item, P> {
  const [{ page: asked }, change] = useFilters(["page"]);
  const identity = JSON.stringify(key);
  // Once for each address: while a page is shown, the next one becomes known.
  const number = useMemo(() => {
    const known = seen.get(identity)?.length ?? 1;
    return Math.min(Math.max(Math.trunc(Number(asked ?? 1)) || 1, 1), Math.max(known, MOST));
  }, [asked, identity]);
  const query = useQuery({
    queryKey: [...key, "page", number],
    queryFn: async ({ signal }) => {
      const cursors = seen.get(identity) ?? [undefined];
      seen.set(identity, cursors);
      let passed = 0;
      // Each separately: the search must not restart if the API requires a wait.
      const next = (cursor: string | undefined) => patiently(() => read(cursor, signal), signal);
      while (cursors.length < number) {
        const { next_cursor } = await next(cursors.at(-1));
        if (next_cursor === null) break;
        cursors.push(next_cursor);
      }
      const shown = Math.min(number, cursors.length);
      let page = await read(cursors[shown - 1], signal);
      for (; page.items.length === 0 && page.next_cursor !== null && passed < PASSED_OVER; passed += 1)
        page = await next(page.next_cursor);
      if (page.next_cursor !== null) cursors[shown] = page.next_cursor;
      return { ...page, passed, shown, known: cursors.length, identity };
    },
    placeholderData: (before) => (before?.identity === identity ? before : undefined),
    refetchInterval: ({ state }) => paced(state.data?.passed ? LONG : LIST),
  });
  const { items = [], next_cursor: next = null, shown = number, known = number } = query.data ?? {};
  return {
    items,
    page: query.data,
    loading: query.isPending,
    error: query.error,
    refresh: () => void query.refetch(),
    pagination: {
      currentPageIndex: query.isPlaceholderData ? number : shown,
      pagesCount: Math.max(known, shown),
      openEnd: next !== null && shown >= known - 1,
    },
    turn: (page) => change({ page: page === 1 ? undefined : String(page) }),
  };
}
