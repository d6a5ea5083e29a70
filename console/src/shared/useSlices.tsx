import Pagination from "@cloudscape-design/components/pagination";
import { useFilters } from "./useFilters";

/** A long list that is there as a whole, a slice at a time, and the pagination for it where there are several. The
 * number of the slice is in the address, by this name.
 */
export function useSlices<Item>(items: readonly Item[], size = 100, name = "page") {
  const [filters, change] = useFilters([name]);
  const chosen = Number(filters[name] ?? 1) || 1;
  const count = Math.ceil(items.length / size);
  const page = Math.max(Math.min(chosen, count), 1);
  return {
    items: items.slice((page - 1) * size, page * size),
    pagination: count > 1 && (
      <Pagination
        currentPageIndex={page}
        pagesCount={count}
        onChange={({ detail }) => change({ [name]: String(detail.currentPageIndex) })}
      />
    ),
  };
}
