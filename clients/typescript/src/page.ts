/** How many jobs match, from a page to the end of the list, and how many were searched. */
export interface Total {
  readonly matching: number;
  readonly searched: number;
  /** False if there are more jobs than one request searches. */
  readonly complete: boolean;
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
    /** The ids of the page's jobs that the stage cannot read, because a newer release wrote them. */
    readonly unreadable: readonly string[] = [],
  ) {}

  /** Returns the next page, or null after the last one. */
  async next(): Promise<Page<Item> | null> {
    return this.nextCursor === null ? null : this.following(this.nextCursor);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Item> {
    for (let page: Page<Item> | null = this; page !== null; page = await page.next()) yield* page.items;
  }
}
