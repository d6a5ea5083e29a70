import { inOrder, type Searched } from "duecourse";
import type { Run } from "./columns";

export interface AllRunsPage {
  items: Run[];
  next_cursor: string | null;
  searched?: Searched;
}

/** Where a search continues: the next page's cursor (null: there is none), what the last page said, and the runs that
 * were found and not shown.
 */
export interface Rest {
  cursor: string | null | undefined;
  searched: Searched | undefined;
  held: Run[];
}

export const START: Rest = { cursor: undefined, searched: undefined, held: [] };

export interface Batch {
  runs: Run[];
  /** Null: these were the last ones. */
  rest: Rest | null;
  /** The number of requests. */
  requests: number;
}

/** The next `count` runs in their order. `tell` is called after each request. */
export async function search(
  from: Rest,
  count: number,
  read: (cursor: string | undefined) => Promise<AllRunsPage>,
  tell: (searched: Searched | undefined) => void,
): Promise<Batch> {
  let { cursor, searched } = from;
  let [ready, held] = cursor === undefined ? [[], []] : inOrder([...from.held], searched, cursor === null);
  let requests = 0;
  while (ready.length < count && cursor !== null) {
    const page = await read(cursor);
    requests += 1;
    ({ next_cursor: cursor, searched } = page);
    tell(searched);
    const [more, others] = inOrder([...held, ...page.items], searched, cursor === null);
    ready = [...ready, ...more];
    held = others;
  }
  const kept = [...ready.slice(count), ...held];
  const ended = cursor === null && kept.length === 0;
  return { runs: ready.slice(0, count), rest: ended ? null : { cursor, searched, held: kept }, requests };
}
