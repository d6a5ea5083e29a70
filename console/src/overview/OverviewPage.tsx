import BarChart from "@cloudscape-design/components/bar-chart";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, LIVE } from "../api/client";
import { ProblemBox } from "../shared/ProblemBox";
import { Time } from "../shared/Time";

export default function OverviewPage() {
  const stats = api.useQuery("get", "/v1/stats", {}, { refetchInterval: LIVE });
  return (
    <SpaceBetween size="l">
      <Header variant="h1">Overview</Header>
      <ProblemBox error={stats.error} retry={() => void stats.refetch()} />
      <Container header={<Header variant="h2">Clock</Header>}>
        <Box>
          {stats.data?.status} <Time at={stats.data?.tick.last} />
        </Box>
        <BarChart series={[{ title: "x", type: "bar", data: [{ x: new Date(), y: 1 }] }]} />
      </Container>
    </SpaceBetween>
  );
}
