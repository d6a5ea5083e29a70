import Cards from "@cloudscape-design/components/cards";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import { useSyncExternalStore } from "react";

/** A column, which is a part of a card on a small screen. */
export interface Column<Item> extends TableProps.ColumnDefinition<Item> {
  /** Its share of a card's width, in percent. If a list gives shares, columns without one are not on its cards. */
  card?: number;
  /** Whether an item has something here; if not, its card leaves it out. */
  has?(item: Item): boolean;
}

export type RowsProps<Item> = Omit<TableProps<Item>, "columnDefinitions"> & {
  columnDefinitions: readonly Column<Item>[];
};

const NARROW = matchMedia("(max-width: 687px)"); // Cloudscape's breakpoint xs
const WIDTH = 150;

/** How many cards make a page. */
export const CARDS = 20;

/** Whether the screen is a phone's. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      NARROW.addEventListener("change", changed);
      return () => NARROW.removeEventListener("change", changed);
    },
    () => NARROW.matches,
  );
}

/** A list with one line for each item; on a small screen, with a card for each, whose title is the first column. */
export function Rows<Item>({ columnDefinitions, ...table }: RowsProps<Item>) {
  const narrow = useNarrow();
  if (!narrow) {
    return (
      <Table<Item>
        enableKeyboardNavigation
        resizableColumns
        {...table}
        columnDefinitions={columnDefinitions.map((each) => ({ width: WIDTH, ...each }))}
      />
    );
  }
  const [title, ...others] = columnDefinitions;
  const shares = others.some((each) => each.card !== undefined);
  const parts = others.filter((each) => !shares || each.card !== undefined);
  const labels = table.ariaLabels;
  return (
    <>
      <Cards<Item>
        items={table.items}
        trackBy={table.trackBy}
        loading={table.loading}
        loadingText={table.loadingText}
        empty={table.empty}
        header={table.header}
        filter={table.filter}
        pagination={table.pagination}
        variant={table.variant === "full-page" ? "full-page" : "container"}
        cardDefinition={{
          header: (item) => <div className="line">{title?.cell(item)}</div>,
          sections: [
            {
              id: "card",
              content: (item) => (
                <div className="card">
                  {parts
                    .filter(({ has }) => has?.(item) ?? true)
                    .map((each) => (
                      <div key={each.id} className="line" style={{ flexBasis: `${(each.card ?? 50) - 2}%` }}>
                        {!shares && <>{each.header}: </>}
                        {each.cell(item)}
                      </div>
                    ))}
                </div>
              ),
            },
          ],
        }}
        selectionType={table.selectionType === "multi" ? "multi" : undefined}
        selectedItems={table.selectedItems}
        onSelectionChange={({ detail }) =>
          table.onSelectionChange?.(new CustomEvent("", { detail }) as never)
        }
        ariaLabels={{
          cardsLabel: labels?.tableLabel,
          selectionGroupLabel: labels?.selectionGroupLabel ?? "",
          itemSelectionLabel: (state, item) => labels?.itemSelectionLabel?.(state, item) ?? "",
        }}
      />
      {table.footer}
    </>
  );
}
