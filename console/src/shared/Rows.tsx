import Cards from "@cloudscape-design/components/cards";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { fitted, fitting } from "./fitted";

/** A column, which is a part of a card on a small screen. */
export interface Column<Item> extends TableProps.ColumnDefinition<Item> {
  id: string;
  /** The width of its usual content (px). */
  width?: number;
  /** Its share of the room that the widths leave. */
  grow?: number;
  /** Whether the table leaves it out where there is no room for it. */
  spare?: boolean;
  /** Its share of a card's width, in percent. If a list gives shares, columns without one are not on its cards. */
  card?: number;
  /** Whether its header is before it on a card; if a list gives no shares, all headers are. */
  labelled?: boolean;
  /** Whether it has as many lines on a card as it needs. */
  wraps?: boolean;
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
  if (!narrow) return <Fitted columnDefinitions={columnDefinitions} {...table} />;
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
                      <div
                        key={each.id}
                        className={each.wraps ? "text" : "line"}
                        style={{ flexBasis: `${(each.card ?? 50) - 2}%` }}
                      >
                        {(!shares || each.labelled) && <>{each.header}: </>}
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

/** The column of the check boxes, and the borders of the table (px). */
const SELECTION = 54;
const BORDERS = 2;
/** The space at both sides of a table within a container (px). */
const PADDING = 40;
/** The place may change by less than this (px) without another layout: a scroll bar comes and goes. */
const SLACK = 24;
const SETTLED_MS = 200;

/** A table whose columns together are as wide as their place, if their contents leave room. */
function Fitted<Item>({ columnDefinitions, ...table }: RowsProps<Item>) {
  const place = useRef<HTMLDivElement>(null);
  const room = useRoom(place);
  const shown = table.columnDisplay
    ?.filter((each) => each.visible)
    .map((each) => (each as { id: string }).id);
  const contained = table.variant === undefined || table.variant === "container";
  const own =
    (room ?? 0) - BORDERS - (contained ? PADDING : 0) - (table.selectionType === undefined ? 0 : SELECTION);
  const all = columnDefinitions.map((each) => ({ ...each, width: each.width ?? WIDTH }));
  const columns = shown === undefined ? fitting(all, own) : all;
  const widths = fitted(
    columns.filter((each) => shown === undefined || shown.includes(each.id ?? "")),
    own,
  );
  // The table reads the width of a column when the column is new only. So other widths need other names: a new table would
  // take the focus from its header and its filter.
  const layout = [room, ...(shown ?? [])].join();
  const named = (id: string) => `${id} ${layout}`;
  return (
    <div ref={place}>
      {room !== null && (
        <Table<Item>
          enableKeyboardNavigation
          resizableColumns
          {...table}
          columnDisplay={table.columnDisplay?.map((each) => ({ ...each, id: named(each.id as string) }))}
          columnDefinitions={columns.map((each) => ({
            ...each,
            id: named(each.id),
            width: widths.get(each.id) ?? each.width,
          }))}
        />
      )}
    </div>
  );
}

/** The width of a place, once it has settled; null before it is known. */
function useRoom(place: React.RefObject<HTMLDivElement | null>): number | null {
  const [room, setRoom] = useState<number | null>(null);
  useLayoutEffect(() => setRoom(place.current?.clientWidth ?? 0), [place]);
  useEffect(() => {
    if (place.current === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new ResizeObserver(([entry]) => {
      clearTimeout(timer);
      const width = Math.floor(entry?.contentRect.width ?? 0);
      const settle = () => setRoom((before) => (Math.abs((before ?? 0) - width) < SLACK ? before : width));
      timer = setTimeout(settle, SETTLED_MS);
    });
    observer.observe(place.current);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [place]);
  return room;
}
