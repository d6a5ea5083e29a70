import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import LineChart from "@cloudscape-design/components/line-chart";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { fetcher, type Schemas } from "../api/client";
import { useZone } from "../shared/clock";
import { ProblemBox } from "../shared/ProblemBox";
import { duration, inZone } from "../shared/time";
import { figures, inWords, type Point } from "./figures";

/** How long the last hundred runs took, and how late they were. */
export default function FiguresTab({ job }: { job: Schemas["Job"] }) {
  const zone = useZone(job.timezone);
  const query = useQuery({
    queryKey: ["figures", job.id],
    queryFn: async ({ signal }) => {
      const { data } = await fetcher.GET("/v1/jobs/{job_id}/runs", {
        params: { path: { job_id: job.id }, query: { limit: 100 } },
        signal,
      });
      return data?.items ?? [];
    },
  });
  if (query.error !== null) return <ProblemBox error={query.error} retry={() => void query.refetch()} />;
  const { durations, lateness } = figures(query.data ?? []);
  const loading = query.isPending;
  return (
    <SpaceBetween size="l">
      <Chart title="Duration" points={durations} zone={zone} loading={loading} />
      <Chart title="Lateness" points={lateness} zone={zone} loading={loading} />
    </SpaceBetween>
  );
}

function Chart({
  title,
  points,
  zone,
  loading,
}: {
  title: string;
  points: Point[];
  zone: string;
  loading: boolean;
}) {
  return (
    <div>
      <Header variant="h3" description={loading ? "" : inWords(points)}>
        {title}
      </Header>
      <LineChart<Date>
        ariaLabel={title}
        ariaDescription={inWords(points)}
        height={180}
        hideFilter
        hideLegend
        statusType={loading ? "loading" : "finished"}
        series={[{ type: "line", title, data: points, valueFormatter: (seconds) => duration(seconds) }]}
        xScaleType="time"
        xTitle={`Due, in the time zone ${zone}`}
        yTitle={title}
        yDomain={[0, Math.max(1, ...points.map((point) => point.y)) * 1.1]}
        i18nStrings={{
          xTickFormatter: (at) => inZone(at, zone).slice(5, 16),
          yTickFormatter: (seconds) => duration(seconds),
          detailPopoverDismissAriaLabel: "Close",
        }}
        empty={<Box textAlign="center">No run has ended yet.</Box>}
      />
    </div>
  );
}
