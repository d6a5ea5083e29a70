import { useState } from "react";

const KEPT = "duecourse-jobs-table";

export interface Columns {
  pageSize: number;
  contentDisplay: readonly { id: string; visible: boolean }[];
  /** In pixels, by column; unchanged columns are missing. */
  widths: Readonly<Record<string, number>>;
}

/** Which columns are shown, how wide, and how many rows, kept in this browser. `standard` names every column. */
export function useColumns(standard: () => Columns): [Columns, (changed: Partial<Columns>) => void] {
  const [columns, setColumns] = useState(() => kept(standard()));
  return [
    columns,
    (changed) => {
      const chosen = { ...columns, ...changed };
      setColumns(chosen);
      localStorage.setItem(KEPT, JSON.stringify(chosen));
    },
  ];
}

/** The stored selection; columns that are new since then are last. */
function kept(standard: Columns): Columns {
  try {
    const found = JSON.parse(localStorage.getItem(KEPT) ?? "{}") as Partial<Columns>;
    const known = new Set(standard.contentDisplay.map((each) => each.id));
    const chosen = (found.contentDisplay ?? []).filter((each) => known.delete(each.id));
    const others = standard.contentDisplay.filter((each) => known.has(each.id));
    return { ...standard, ...found, contentDisplay: [...chosen, ...others] };
  } catch {
    return standard;
  }
}
