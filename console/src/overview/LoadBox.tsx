import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { fetcher } from "../api/client";
import { to } from "../app/routes";
import { Time, useNow } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { Bars } from "./Bars";
import { loadOf, type Upcoming } from "./load";

const TEN_MINUTES = 600_000;
const DAY = 86_400_000;
/** Of 100 jobs each: what more jobs add is not worth a person's waiting for it. */
const PAGES = 20;

const BAR_MINUTES = 10;

/** The runs that come due in the next 24 hours. */
export function LoadBox() {
  const now = useNow(60_000);
  const begin = Math.floor(now / TEN_MINUTES) * TEN_MINUTES;
  const load = useQuery({
    queryKey: ["load", begin],
    placeholderData: keepPreviousData,
    staleTime: TEN_MINUTES,
    queryFn: async ({ signal }) => {
      const window = {
        from: new Date(begin).toISOString(),
        to: new Date(begin + DAY).toISOString(),
        step: 60,
      };
      const pages: Upcoming[] = [];
      let cursor: string | undefined;
      do {
        const { data } = await fetcher.GET("/v1/upcoming", {
          params: { query: { ...window, cursor } },
          signal,
        });
        if (data !== undefined) pages.push(data);
        cursor = data?.next_cursor ?? undefined;
      } while (cursor !== undefined && pages.length < PAGES);
      return { ...loadOf(pages, BAR_MINUTES), cut: cursor !== undefined };
    },
  });
  const found = load.data;
  return (
    <Container
      header={
        <Header
          variant="h2"
          description={
            found &&
            `${found.runs.toLocaleString("en-GB")} runs come due, by the schedules of ` +
              `${found.cut ? "the first " : ""}${found.jobs} jobs. Runs on request are not known before.`
          }
        >
          The next 24 hours
        </Header>
      }
    >
      <ProblemBox error={load.error} retry={() => void load.refetch()} />
      {load.isPending && <StatusIndicator type="loading">Counting</StatusIndicator>}
      {found !== undefined && found.runs === 0 && (
        <Box>Nothing comes due: no active job has a run to come.</Box>
      )}
      {found !== undefined && found.runs > 0 && (
        <>
          <Bars
            label={`Runs that come due, by ${BAR_MINUTES} minutes; with one of the fullest minutes: red`}
            bars={found.bars.map(({ at, runs, hot }) => ({
              at,
              parts: [{ count: runs, color: hot ? "var(--dc-error)" : "var(--dc-info)" }],
              text: `${runs.toLocaleString("en-GB")} runs${hot ? ", one of the fullest minutes is here" : ""}`,
            }))}
          />
          <Hot minutes={found.hot} />
          {found.uncounted > 0 && (
            <Box>{found.uncounted} jobs could not be counted: their schedule cannot be read.</Box>
          )}
        </>
      )}
    </Container>
  );
}

function Hot({ minutes }: { minutes: ReturnType<typeof loadOf>["hot"] }) {
  if (minutes.length === 0) return null;
  return (
    <div>
      <Box variant="h3">The fullest minutes</Box>
      <ul>
        {minutes.map((minute) => (
          <li key={minute.at.getTime()}>
            <Time at={minute.at.toISOString()} />: {minute.runs.toLocaleString("en-GB")} runs, most of them of{" "}
            {minute.jobs.slice(0, 3).map((job, place) => (
              <span key={job.id}>
                {place > 0 && ", "}
                <Link href={to.job(job.id)}>{job.id}</Link> ({job.runs})
              </span>
            ))}
          </li>
        ))}
      </ul>
    </div>
  );
}
