import { useCallback } from "react";
import { useSearchParams } from "react-router";

/** The filters of a page, kept in its address, so that a link shows the same list and the browser's Back button
 * shows the list before. Empty filters are omitted, and a change of them leads to the first page.
 */
export function useFilters<Name extends string>(
  names: readonly Name[],
): [Partial<Record<Name, string>>, (changes: Partial<Record<Name, string | undefined>>) => void] {
  const [search, setSearch] = useSearchParams();
  const filters: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const value = search.get(name);
    if (value) filters[name] = value;
  }
  const change = useCallback(
    (changes: Partial<Record<Name, string | undefined>>) =>
      setSearch((before) => {
        const after = new URLSearchParams(before);
        after.delete("page"); // of another list
        for (const [name, value] of Object.entries<string | undefined>(changes as Record<string, string>)) {
          if (value) after.set(name, value);
          else after.delete(name);
        }
        return after;
      }),
    [setSearch],
  );
  return [filters, change];
}
