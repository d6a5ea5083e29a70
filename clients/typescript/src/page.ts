/** How many jobs match, from a page to the end of the list, and how many were searched. */
export interface Total {
  readonly matching: number;
  readonly searched: number;
  /** False if there are more jobs than one request searches. */
  readonly complete: boolean;
}

/** How far a list of successful runs across jobs has come: all runs from `complete_from` on (null: not known), and
 * earlier runs of `jobs` jobs, are on this page or on earlier ones.
 */
export interface Searched {
  readonly complete_from: string | null;
  readonly jobs: number;
}

/** A page of a list. Iterating over it continues over all following pages. */
export class Page<Item> implements AsyncIterable<Item> {
  constructor(
    readonly items: readonly Item[],
    /** The cursor of the next page; null on the last one. */
    readonly nextCursor: string | null,
    private readonly following: (cursor: string) => Promise<Page<Item>>,
    /** Only for the first page of a list with `total`. */
    readonly total: Total | null = null,
    /** Only for a list of successful runs across jobs. Iterating returns the runs in order, newest first. */
    readonly searched: Searched | null = null,
  ) {}

  /** Returns the next page, or null after the last one. */
  async next(): Promise<Page<Item> | null> {
    return this.nextCursor === null ? null : this.following(this.nextCursor);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Item> {
    let held: Item[] = [];
    for (let page: Page<Item> | null = this; page !== null; page = await page.next()) {
      const [ready, others] = inOrder([...held, ...page.items], page.searched, page.nextCursor === null);
      yield* ready;
      held = others;
    }
  }
}

/** Divides items into those that no item of a later page precedes, in the order of the list, and the others. `searched`
 * is of the last of their pages; `ended`: there is no later page.
 */
export function inOrder<Item>(
  items: Item[],
  searched: Searched | null | undefined,
  ended: boolean,
): [Item[], Item[]] {
  if (!searched) return [items, []];
  const runs = items as { id: string; job_id: string; occurrence: string }[];
  const name = (run: { id: string }) => run.id.slice(run.id.indexOf("."));
  runs.sort((one, two) => descending(name(one), name(two)) || -descending(one.job_id, two.job_id));
  const since = ended ? "" : searched.complete_from;
  const count = since === null ? 0 : runs.filter((run) => run.occurrence >= since).length;
  return [items.slice(0, count), items.slice(count)];
}

const descending = (one: string, two: string) => (one < two ? 1 : one > two ? -1 : 0);
