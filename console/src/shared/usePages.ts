import { type QueryKey, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { LIVE } from "../api/client";
import { patiently } from "./patiently";

/** A list with a filter may have pages without anything, which go on: so many are passed over at once. */
const PASSED_OVER = 20;
/** The reload interval of a page that took more than one request (ms). */
const LONG = 60_000;

interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

export interface Pages<Item> {
  items: readonly Item[];
  loading: boolean;
  error: unknown;
  refresh(): void;
  /** For Cloudscape's Pagination: how many pages are known, and whether there are more. */
  pagination: { currentPageIndex: number; pagesCount: number; openEnd: boolean };
  turn(page: number): void;
}

/** A list that the API returns page by page, with a cursor for the next one; the current page is reloaded while
 * the tab is visible. `key` identifies the list: another key starts at the first page.
 */
export function usePages<Item>(
  key: QueryKey,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  { every = LIVE, enabled = true }: { every?: number | false; enabled?: boolean } = {},
): Pages<Item> {
  const identity = JSON.stringify(key);
  const [position, setPosition] = useState({
    identity,
    page: 1,
    cursors: [undefined] as (string | undefined)[],
  });
  const here = position.identity === identity ? position : { identity, page: 1, cursors: [undefined] };
  const cursor = here.cursors[here.page - 1];
  const query = useQuery({
    queryKey: [...key, "page", cursor ?? null],
    queryFn: async ({ signal }) => {
      let page = await read(cursor, signal);
      let passed = 0;
      for (; page.items.length === 0 && page.next_cursor !== null && passed < PASSED_OVER; passed += 1) {
        const { next_cursor } = page;
        // Each separately: the search must not restart if the API requires a wait.
        page = await patiently(() => read(next_cursor, signal), signal);
      }
      return { ...page, passed };
    },
    refetchInterval: ({ state }) => (every !== false && state.data?.passed ? Math.max(every, LONG) : every),
    enabled,
  });
  const next = query.data?.next_cursor ?? null;
  const known = Math.max(here.cursors.length, here.page + (next === null ? 0 : 1));
  return {
    items: query.data?.items ?? [],
    loading: query.isPending && enabled,
    error: query.error,
    refresh: () => void query.refetch(),
    pagination: {
      currentPageIndex: here.page,
      pagesCount: known,
      openEnd: next !== null && here.page >= here.cursors.length,
    },
    turn(page) {
      if (page <= here.cursors.length) setPosition({ ...here, page });
      else if (next !== null) {
        setPosition({ identity, page: here.page + 1, cursors: [...here.cursors.slice(0, here.page), next] });
      }
    },
  };
}
