import Link from "@cloudscape-design/components/link";
import Pagination from "@cloudscape-design/components/pagination";
import Table from "@cloudscape-design/components/table";
import { useState } from "react";
import { Time } from "../shared/Instant";
import type { Occurrence } from "./occurrences";

const PER_PAGE = 20;

/** The timeline's facts in words, newest first; it opens at the present. */
export function OccurrenceTable({
  all,
  zone,
  addressOf,
}: {
  all: readonly Occurrence[];
  zone: string;
  addressOf(one: Occurrence): string;
}) {
  const [asked, setPage] = useState<number | null>(null);
  const pages = Math.max(1, Math.ceil(all.length / PER_PAGE));
  const coming = all.filter((one) => one.kind === "upcoming").length;
  const page = Math.min(asked ?? Math.floor(coming / PER_PAGE) + 1, pages);
  return (
    <Table
      variant="embedded"
      wrapLines
      enableKeyboardNavigation
      ariaLabels={{ tableLabel: "Occurrences" }}
      items={all.toReversed().slice((page - 1) * PER_PAGE, page * PER_PAGE)}
      empty="There are no occurrences in this period."
      pagination={
        pages > 1 && (
          <Pagination
            currentPageIndex={page}
            pagesCount={pages}
            onChange={({ detail }) => setPage(detail.currentPageIndex)}
          />
        )
      }
      columnDefinitions={[
        {
          id: "at",
          header: "Occurrence",
          isRowHeader: true,
          cell: (one) => <Time at={one.at} zone={zone} />,
        },
        { id: "kind", header: "Outcome", cell: (one) => one.kind },
        { id: "text", header: "Reason", cell: (one) => <span className="text">{one.text || "-"}</span> },
        {
          id: "link",
          header: "More",
          cell: (one) => (
            <Link href={addressOf(one)} ariaLabel={`${one.run === null ? "Explain" : "Run"} ${one.at}`}>
              {one.run === null ? "Explain" : "Run"}
            </Link>
          ),
        },
      ]}
    />
  );
}
