import Spinner from "@cloudscape-design/components/spinner";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "react-router";
import { fetcher } from "../api/client";
import { asProblem } from "../api/problem";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { CalendarForm, type StoredCalendar } from "./CalendarForm";

export default function CalendarPage() {
  const { calendarId = "" } = useParams();
  const [loads, setLoads] = useState(0);
  const found = useQuery({
    queryKey: ["calendar", calendarId],
    queryFn: async ({ signal }): Promise<StoredCalendar> => {
      const { data, response } = await fetcher.GET("/v1/calendars/{calendar_id}", {
        params: { path: { calendar_id: calendarId } },
        signal,
      });
      if (data === undefined) throw new SyntaxError("an empty response");
      return { calendar: data, etag: response.headers.get("etag") ?? "" };
    },
  });
  if (found.data !== undefined) {
    const reload = () => void found.refetch().then(() => setLoads(loads + 1));
    return <CalendarForm key={`${calendarId} ${loads}`} stored={found.data} reload={reload} />;
  }
  if (found.error === null) return <Spinner size="large" />;
  if (asProblem(found.error).status === 404) {
    return <NotFound what="Calendar" list={{ href: "#/calendars", text: "Calendars" }} />;
  }
  return <ProblemBox error={found.error} retry={() => void found.refetch()} />;
}
