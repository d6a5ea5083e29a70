import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import { fetcher } from "../api/client";
import { to } from "../app/routes";
import { PagedTable } from "../shared/PagedTable";
import { usePages } from "../shared/usePages";
import { limitText, rateText, waitingText } from "./texts";

export default function LimitsPage() {
  const pages = usePages(["limits"], async (cursor, signal) => {
    const { data } = await fetcher.GET("/v1/limits", { params: { query: { limit: 50, cursor } }, signal });
    return data ?? { items: [], next_cursor: null };
  });
  return (
    <PagedTable
      pages={pages}
      ariaLabels={{ tableLabel: "Limits" }}
      header={
        <Header
          variant="h1"
          description="Keys that have a stored limit, rate or circuit breaker, or waiting runs. The keys of a job are in its concurrency, rate and breaker fields."
        >
          Limits
        </Header>
      }
      empty="No key has a stored limit, rate or circuit breaker, or waiting runs."
      columnDefinitions={[
        {
          id: "key",
          header: "Key",
          isRowHeader: true,
          width: 220,
          grow: 2,
          cell: (each) => (
            <span className="text">
              <Link href={to.limit(each.key)}>{each.key}</Link>
            </span>
          ),
        },
        { id: "limit", header: "Limit", width: 160, cell: (each) => limitText(each.concurrency) },
        { id: "rate", header: "Rate", width: 210, cell: (each) => rateText(each.rate) },
        { id: "waiting", header: "Waiting runs", width: 220, grow: 1, wraps: true, cell: waitingText },
        { id: "by", header: "Set by", width: 140, grow: 1, cell: (each) => each.updated_by },
      ]}
    />
  );
}
