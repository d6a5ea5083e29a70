import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import Table from "@cloudscape-design/components/table";
import Tabs from "@cloudscape-design/components/tabs";
import { useParams } from "react-router";
import { api, type Schemas } from "../api/client";
import { LIST, paced } from "../api/polling";
import { asProblem } from "../api/problem";
import { to } from "../app/routes";
import { JobActions } from "../job/JobActions";
import { RunsTab } from "../job/RunsTab";
import { State } from "../job/State";
import { CopyId } from "../shared/CopyId";
import { Time } from "../shared/Instant";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { duration } from "../shared/time";
import { useFilters } from "../shared/useFilters";
import Graph from "./Graph";
import { ruleText } from "./graph";
import { RunGrid } from "./RunGrid";

/** A workflow: its jobs and its runs. */
export default function WorkflowPage() {
  const { workflowId = "" } = useParams();
  const {
    data: workflow,
    error,
    refetch,
  } = api.useQuery(
    "get",
    "/v1/workflows/{workflow_id}",
    { params: { path: { workflow_id: workflowId } } },
    { refetchInterval: () => paced(LIST) },
  );
  const [{ tab = "grid" }, change] = useFilters(["tab"]);
  if (workflow === undefined) {
    if (error === null) return <Spinner size="large" />;
    if (asProblem(error).status === 404) {
      return <NotFound what="Workflow" list={{ href: "#/workflows", text: "Workflows" }} />;
    }
    return <ProblemBox error={error} retry={() => void refetch()} />;
  }
  const steps = Object.entries(workflow.jobs).map(([id, job]) => ({ id, href: to.job(job.job_id), ...job }));
  const run = (runId: string) => to.workflowRun(workflow.id, runId.slice(workflow.id.length + 1));
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description={<span className="text">{workflow.description}</span>}
        info={<CopyId id={workflow.id} what="workflow id" />}
        actions={<JobActions job={{ ...workflow, workflow: workflow.id }} isWorkflow />}
      >
        <span className="text">{workflow.name || workflow.id}</span>
      </Header>
      <ProblemBox error={error} />
      <Container>
        <KeyValuePairs
          columns={4}
          items={[
            { label: "State", value: <State job={workflow} /> },
            {
              label: "Schedule",
              value: workflow.understood_as ?? "None: runs only on demand",
            },
            {
              label: "Next occurrence",
              value: <Time at={workflow.next_occurrence} zone={workflow.timezone} />,
            },
            { label: "Maximum duration of a run", value: duration(workflow.deadline_seconds) },
            {
              label: "More",
              value: (
                <Link href={to.job(workflow.id)}>Timeline, changes and explanations on the job page</Link>
              ),
            },
          ]}
        />
      </Container>
      <Tabs
        ariaLabel="About this workflow"
        activeTabId={tab}
        onChange={({ detail }) => change({ tab: detail.activeTabId })}
        tabs={[
          { id: "grid", label: "Steps and runs", content: <RunGrid workflow={workflow} /> },
          {
            id: "runs",
            label: "Runs",
            content: <RunsTab jobId={workflow.id} zone={workflow.timezone} address={run} />,
          },
          { id: "jobs", label: "Steps", content: <Jobs steps={steps} /> },
        ]}
      />
      <Container
        header={
          <Header variant="h2" counter={`(${steps.length})`}>
            Graph
          </Header>
        }
      >
        <Graph steps={steps} label={`Graph of ${workflow.id}; the Steps tab has the same data as a table`} />
      </Container>
    </SpaceBetween>
  );
}

function Jobs({ steps }: { steps: readonly (Schemas["WorkflowJob"] & { id: string })[] }) {
  return (
    <Table
      variant="embedded"
      wrapLines
      enableKeyboardNavigation
      ariaLabels={{ tableLabel: "Steps of the workflow" }}
      items={steps}
      columnDefinitions={[
        {
          id: "id",
          header: "Step",
          isRowHeader: true,
          cell: (each) => <Link href={to.job(each.job_id)}>{each.id}</Link>,
        },
        { id: "after", header: "After", cell: (each) => each.after.join(", ") || "-" },
        {
          id: "when",
          header: "Waits for",
          cell: (each) => (each.after.length === 0 ? "-" : ruleText(each.when)),
        },
        {
          id: "times",
          header: "Time restrictions",
          cell: (each) => (
            <span className="text">
              {[each.only, each.not_before && `not before ${each.not_before}`].filter(Boolean).join("; ") ||
                "-"}
            </span>
          ),
        },
        { id: "may_fail", header: "May fail", cell: (each) => (each.may_fail ? "yes" : "no") },
        {
          id: "for_each",
          header: "Runs once for each item of",
          cell: (each) => (
            <span className="text">
              {each.for_each === null ? "-" : `${each.for_each} (${each.at_once} at once)`}
            </span>
          ),
        },
      ]}
    />
  );
}
