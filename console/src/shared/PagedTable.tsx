import Box from "@cloudscape-design/components/box";
import Pagination from "@cloudscape-design/components/pagination";
import type { ReactNode } from "react";
import { ProblemBox } from "./ProblemBox";
import { Rows, type RowsProps } from "./Rows";
import type { Pages } from "./usePages";

/** A table over a list that comes page by page, with its empty and failed states. */
export function PagedTable<Item>({
  pages,
  empty,
  ...table
}: Omit<RowsProps<Item>, "items" | "loading" | "pagination" | "empty"> & {
  pages: Pages<Item>;
  /** The text and the actions of an empty list. */
  empty: ReactNode;
}) {
  const several = pages.pagination.pagesCount > 1;
  const problem = <ProblemBox error={pages.error} retry={pages.refresh} />;
  if (pages.error !== null && pages.items.length === 0) {
    return (
      <>
        {table.header}
        {table.filter}
        {problem}
      </>
    );
  }
  const list = (
    <Rows<Item>
      variant="full-page"
      stickyHeader
      {...table}
      items={pages.items}
      loading={pages.loading}
      loadingText="Loading"
      empty={
        <Box textAlign="center" color="text-body-secondary" padding="s">
          {pages.page?.next_cursor != null ? "Nothing on this page. Go to the next page." : empty}
        </Box>
      }
      pagination={
        several && (
          <Pagination {...pages.pagination} onChange={({ detail }) => pages.turn(detail.currentPageIndex)} />
        )
      }
    />
  );
  return (
    <>
      {problem}
      {list}
    </>
  );
}
