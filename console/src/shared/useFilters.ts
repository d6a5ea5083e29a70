import { useCallback } from "react";
import { useSearchParams } from "react-router";

/** The filters of a page, kept in its address, so that a link shows the same list. Empty filters are omitted. */
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
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries<string | undefined>(
            changes as Record<string, string | undefined>,
          )) {
            if (value) after.set(name, value);
            else after.delete(name);
          }
          return after;
        },
        { replace: true },
      ),
    [setSearch],
  );
  return [filters, change];
}
