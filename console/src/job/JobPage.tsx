import Alert from "@cloudscape-design/components/alert";
import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import Tabs from "@cloudscape-design/components/tabs";
import { Suspense } from "react";
import { useParams } from "react-router";
import { api, type Schemas } from "../api/client";
import { LIST, paced } from "../api/polling";
import { asProblem } from "../api/problem";
import { loaded } from "../app/loaded";
import { CopyId } from "../shared/CopyId";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { useFilters } from "../shared/useFilters";
import { ChangesTab } from "./ChangesTab";
import { JobActions } from "./JobActions";
import { JobFacts } from "./JobFacts";
import { NextTab } from "./NextTab";
import { RecentTab } from "./RecentTab";
import { RunsTab } from "./RunsTab";
import { ShadowBadge, ShadowReport } from "./ShadowReport";
import { TimelineTab } from "./TimelineTab";
import { WhyTab } from "./WhyTab";

const FiguresTab = loaded(() => import("./FiguresTab"));

/** One job: its state, actions and runs. */
export default function JobPage() {
  const { jobId = "" } = useParams();
  const {
    data: job,
    error,
    refetch,
  } = api.useQuery(
    "get",
    "/v1/jobs/{job_id}",
    { params: { path: { job_id: jobId } } },
    { refetchInterval: () => paced(LIST) },
  );
  if (job === undefined) {
    if (error === null) return <Spinner size="large" />;
    if (asProblem(error).status === 404) {
      return <NotFound what="Job" list={{ href: "#/jobs", text: "Jobs" }} />;
    }
    return <ProblemBox error={error} retry={() => void refetch()} />;
  }
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description={<span className="text">{job.description}</span>}
        actions={<JobActions job={job} />}
        info={<CopyId id={job.id} what="job id" />}
      >
        <span className="text">{job.name || job.id}</span> <ShadowBadge since={job.shadow_since} />
      </Header>
      <ProblemBox error={error} />
      {job.error !== null && (
        <Alert type="error" header="The job does not run">
          <span className="text">{job.error}</span>
        </Alert>
      )}
      <Warnings jobId={job.id} />
      <JobFacts job={job} />
      {job.shadow_since !== null && <ShadowReport job={job} />}
      <JobTabs job={job} />
    </SpaceBetween>
  );
}

/** Warnings about the job from its last runs. */
function Warnings({ jobId }: { jobId: string }) {
  const { data } = api.useQuery("get", "/v1/jobs/{job_id}/warnings", { params: { path: { job_id: jobId } } });
  return data?.items.map((each) => (
    <Alert key={each.kind} type="warning" header={each.says}>
      {each.do}
    </Alert>
  ));
}

function JobTabs({ job }: { job: Schemas["Job"] }) {
  const [{ tab = "recent" }, change] = useFilters(["tab"]);
  return (
    <Tabs
      ariaLabel="About this job"
      activeTabId={tab}
      onChange={({ detail }) => change({ tab: detail.activeTabId })}
      tabs={[
        { id: "recent", label: "Recent", content: <RecentTab job={job} /> },
        { id: "timeline", label: "Timeline", content: <TimelineTab job={job} /> },
        { id: "next", label: "Next", content: <NextTab job={job} /> },
        { id: "runs", label: "Runs", content: <RunsTab jobId={job.id} zone={job.timezone} /> },
        {
          id: "figures",
          label: "Duration",
          content: (
            <Suspense fallback={<Spinner />}>
              <FiguresTab job={job} />
            </Suspense>
          ),
        },
        { id: "why", label: "Explain", content: <WhyTab job={job} /> },
        { id: "changes", label: "Changes", content: <ChangesTab job={job} /> },
        { id: "definition", label: "Definition", content: <Definition job={job} /> },
      ]}
    />
  );
}

function Definition({ job }: { job: Schemas["Job"] }) {
  const text = JSON.stringify(job, null, 2);
  return (
    <SpaceBetween size="s">
      <CopyToClipboard
        copyButtonText="Copy"
        copySuccessText="Copied"
        copyErrorText="The browser did not allow copying"
        textToCopy={text}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <section className="pre" aria-label="The job as JSON" tabIndex={0}>
        {text}
      </section>
    </SpaceBetween>
  );
}
