import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import { fetcher } from "../api/client";
import { useRefusal } from "../app/context";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { Long } from "../shared/Long";
import { PagedTable } from "../shared/PagedTable";
import { usePages } from "../shared/usePages";

export default function CalendarsPage() {
  const pages = usePages(["calendars"], async (cursor, signal) => {
    const { data } = await fetcher.GET("/v1/calendars", { params: { query: { limit: 50, cursor } }, signal });
    if (data === undefined) throw new SyntaxError("an empty response");
    return data;
  });
  const refusal = useRefusal("jobs:write");
  return (
    <PagedTable
      pages={pages}
      ariaLabels={{ tableLabel: "Calendars" }}
      header={
        <Header
          variant="h1"
          description="Days and windows that several jobs exclude. A job refers to a calendar in its calendar field."
          actions={
            <Button
              variant="primary"
              href={to.newCalendar}
              disabled={refusal !== undefined}
              disabledReason={refusal}
            >
              Create calendar
            </Button>
          }
        >
          Calendars
        </Header>
      }
      empty="There are no calendars yet. Choose Create calendar, or use the command duecourse calendars import."
      columnDefinitions={[
        {
          id: "id",
          header: "Calendar",
          isRowHeader: true,
          width: 220,
          grow: 1,
          cell: (each) => (
            <span title={each.id}>
              <Link href={to.calendar(each.id)}>{each.id}</Link>
            </span>
          ),
        },
        {
          id: "description",
          header: "Description",
          width: 220,
          grow: 2,
          card: 100,
          has: (each) => each.description !== "",
          cell: (each) => <Long text={each.description} header={each.id} />,
        },
        {
          id: "days",
          header: "Exclusions",
          width: 260,
          grow: 2,
          card: 100,
          cell: (each) => <Long text={each.exclude.join("; ")} header={each.id} />,
        },
        {
          id: "changed",
          header: "Changed",
          width: 130,
          card: 50,
          labelled: true,
          cell: (each) => <Time at={each.updated_at} brief />,
        },
      ]}
    />
  );
}
