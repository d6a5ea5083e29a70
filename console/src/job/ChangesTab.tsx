import Popover from "@cloudscape-design/components/popover";
import type { Schemas } from "../api/client";
import { fetcher } from "../api/client";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";
import { PagedTable } from "../shared/PagedTable";
import { usePages } from "../shared/usePages";
import { Zoned } from "../shared/Zoned";

/** The changes of a job: author, action, and each field. */
export function ChangesTab({ job }: { job: Schemas["Job"] }) {
  const zone = useZone(job.timezone);
  const pages = usePages(["changes of", job.id], async (cursor, signal) => {
    const { data } = await fetcher.GET("/v1/jobs/{job_id}/history", {
      params: { path: { job_id: job.id }, query: { limit: 20, cursor } },
      signal,
    });
    if (data === undefined) throw new SyntaxError("an empty response");
    return data;
  });
  return (
    <PagedTable
      pages={pages}
      variant="embedded"
      stickyHeader={false}
      ariaLabels={{ tableLabel: "Changes" }}
      empty="No changes are recorded."
      columnDefinitions={[
        {
          id: "at",
          header: <Zoned text="When" zone={zone} />,
          width: 195,
          cell: (each) => <Time at={each.at} zone={job.timezone} bare />,
        },
        {
          id: "who",
          header: "By",
          width: 150,
          cell: (each) => <span className="text">{each.principal}</span>,
        },
        {
          id: "what",
          header: "Action",
          width: 120,
          cell: (each) => each.action.replaceAll("_", " "),
          isRowHeader: true,
        },
        { id: "fields", header: "Fields", width: 300, grow: 1, cell: (each) => <Fields change={each} /> },
      ]}
    />
  );
}

/** As many as a row shows; the others are behind a link. */
const LINES = 2;
/** With fewer characters nothing is cut off. */
const LONG = 100;

function Fields({ change }: { change: Schemas["Change"] }) {
  const facts = Object.entries(change.facts);
  const lines = [
    ...change.changes.map((each) => (
      <div key={each.field} className="text">
        <strong>{each.field}</strong>:{" "}
        {"before" in each || "after" in each ? `${shown(each.before)} → ${shown(each.after)}` : "changed"}
      </div>
    )),
    ...facts.map(([name, value]) => (
      <div key={name} className="text">
        {name.replaceAll("_", " ")}: {shown(value)}
      </div>
    )),
  ];
  if (lines.length === 0) return <>-</>;
  const more = lines.length - LINES;
  const long = JSON.stringify([change.changes, facts]).length > LONG;
  return (
    <>
      {lines.slice(0, LINES).map((line) => (
        <div key={line.key} className="lines" style={{ WebkitLineClamp: 1 }}>
          {line}
        </div>
      ))}
      {(more > 0 || long) && (
        <Popover size="large" content={lines} header="Fields">
          {more > 0 ? `and ${more} more` : "Show all"}
        </Popover>
      )}
    </>
  );
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  return typeof value === "string" ? value : JSON.stringify(value);
}
