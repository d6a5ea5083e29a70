import Spinner from "@cloudscape-design/components/spinner";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { fetcher } from "../api/client";
import { asProblem } from "../api/problem";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { CalendarForm } from "./CalendarForm";

export default function CalendarPage() {
  const { calendarId = "" } = useParams();
  const found = useQuery({
    queryKey: ["calendar", calendarId],
    queryFn: async ({ signal }) =>
      (
        await fetcher.GET("/v1/calendars/{calendar_id}", {
          params: { path: { calendar_id: calendarId } },
          signal,
        })
      ).data,
  });
  if (found.data !== undefined) return <CalendarForm key={calendarId} calendar={found.data} />;
  if (found.error === null) return <Spinner size="large" />;
  if (asProblem(found.error).status === 404) {
    return <NotFound what="Calendar" list={{ href: "#/calendars", text: "Calendars" }} />;
  }
  return <ProblemBox error={found.error} retry={() => void found.refetch()} />;
}
