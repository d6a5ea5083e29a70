import "./overview.css";
import Button from "@cloudscape-design/components/button";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, LIVE } from "../api/client";
import { useRefusal, useStage } from "../app/context";
import { ProblemBox } from "../shared/ProblemBox";
import { ClockAlert } from "../stage/ClockAlert";
import { Counts } from "./Counts";
import { FailedBox } from "./FailedBox";
import { LateBox } from "./LateBox";
import { LoadBox } from "./LoadBox";
import { MetricsBox } from "./MetricsBox";
import { OutcomesBox } from "./OutcomesBox";
import { RunningBox } from "./RunningBox";
import { useLoad } from "./useLoad";
import { useUnsuccessful } from "./useUnsuccessful";
import { WhyBox } from "./WhyBox";

export default function OverviewPage() {
  const { session } = useStage();
  const stats = api.useQuery("get", "/v1/stats", {}, { refetchInterval: LIVE });
  const refusal = useRefusal("jobs:write");
  const unsuccessful = useUnsuccessful();
  // All jobs are read only after the first figures are shown.
  const load = useLoad(stats.isFetched && unsuccessful.isFetched);
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        actions={
          <Button href="#/jobs/new" disabled={refusal !== undefined} disabledReason={refusal}>
            Create job
          </Button>
        }
      >
        Overview
      </Header>
      <ProblemBox error={stats.error} retry={() => void stats.refetch()} />
      <ClockAlert stats={stats.data} />
      <Counts dead={stats.data?.dead_runs} unsuccessful={unsuccessful.data} load={load.data} />
      <FailedBox query={unsuccessful} />
      <ColumnLayout columns={2} minColumnWidth={280}>
        <LateBox load={load} />
        <RunningBox />
      </ColumnLayout>
      <WhyBox />
      <LoadBox load={load} />
      <OutcomesBox query={unsuccessful} />
      {stats.data !== undefined && session.may("ops") && <MetricsBox />}
    </SpaceBetween>
  );
}
