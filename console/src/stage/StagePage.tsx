import Alert from "@cloudscape-design/components/alert";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { api } from "../api/client";
import { LIST, paced } from "../api/polling";
import { useRefusal, useStage } from "../app/context";
import { ProblemBox } from "../shared/ProblemBox";
import { Alarms } from "./Alarms";
import { ClockBox } from "./ClockBox";
import { Findings } from "./Findings";
import { Limits } from "./Limits";
import { MetricsBox } from "./MetricsBox";
import { PeaksBox } from "./PeaksBox";
import { Login, Settings } from "./Settings";

/** CloudWatch evaluates an alarm once a minute, and the API reads it at most four times a minute. */
const EVERY = 15_000;

export default function StagePage() {
  const { session } = useStage();
  const refused = useRefusal("ops");
  const stage = api.useQuery(
    "get",
    "/v1/stage",
    {},
    { enabled: refused === undefined, refetchInterval: () => paced(EVERY) },
  );
  const stats = api.useQuery(
    "get",
    "/v1/stats",
    {},
    { enabled: session.may("ops") || session.may("jobs:read"), refetchInterval: () => paced(LIST) },
  );
  // What is below the findings would move when they arrive.
  const known = refused !== undefined || stage.isFetched;
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description="For more checks, run duecourse doctor. The command requires AWS credentials."
      >
        Stage
      </Header>
      {refused !== undefined && (
        <Alert type="info" header="Findings and alarms require the ops scope">
          {refused} To get this scope, contact the administrator of the user pool or identity provider.
        </Alert>
      )}
      <ProblemBox error={stage.error} retry={() => void stage.refetch()} />
      {!known && <StatusIndicator type="loading">Loading</StatusIndicator>}
      {refused === undefined && known && stage.error === null && (
        <SpaceBetween size="l">
          <Findings checks={stage.data?.checks} />
          <Alarms stage={stage.data} />
        </SpaceBetween>
      )}
      {known && (
        <SpaceBetween size="l">
          <ProblemBox error={stats.error} retry={() => void stats.refetch()} />
          {stats.error === null && <ClockBox stats={stats.data} />}
          {stats.data?.prescale && <PeaksBox prescale={stats.data.prescale} />}
          <Limits stats={stats.data} />
          <Settings stage={stage.data} />
          <Login />
          {refused === undefined && <MetricsBox />}
        </SpaceBetween>
      )}
    </SpaceBetween>
  );
}
