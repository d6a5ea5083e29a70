import Badge from "@cloudscape-design/components/badge";
import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { Fragment, type ReactNode } from "react";
import type { Schemas } from "../api/client";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { inLine } from "../shared/targets";
import { State } from "./State";

/** The main fields of a job. */
export function JobFacts({ job }: { job: Schemas["Job"] }) {
  const items: { label: string; value: ReactNode }[] = [
    { label: "State", value: <State job={job} /> },
    { label: "Schedule", value: <Schedule job={job} /> },
    { label: "Next occurrence", value: <Time at={job.next_occurrence} zone={job.timezone} /> },
    { label: "Target", value: <span className="text">{inLine("text", job.target)}</span> },
  ];
  if (job.expect_every !== null) {
    items.push({ label: "Last ping", value: <Time at={job.anchor} zone={job.timezone} /> });
  }
  if (job.name) items.push({ label: "Id", value: job.id });
  const calendars = [job.calendar ?? []].flat();
  if (job.exclude.length + calendars.length > 0) {
    items.push({ label: "Exclusions", value: <Excluded job={job} calendars={calendars} /> });
  }
  if (job.spread) {
    const { offset_minutes, within_minutes } = job.spread;
    items.push({
      label: "Spread",
      value: `${offset_minutes} ${offset_minutes === 1 ? "minute" : "minutes"} after each occurrence (at most ${within_minutes})`,
    });
  }
  if (job.owner) items.push({ label: "Owner", value: <span className="text">{job.owner}</span> });
  if (job.tags.length > 0) items.push({ label: "Tags", value: <Tags tags={job.tags} /> });
  if (job.workflow !== null) {
    items.push({ label: "Workflow", value: <Link href={to.workflow(job.workflow)}>{job.workflow}</Link> });
  }
  if (job.runbook_url !== null) items.push({ label: "Runbook", value: <Runbook url={job.runbook_url} /> });
  return (
    <Container>
      <KeyValuePairs columns={4} items={items} />
    </Container>
  );
}

function Schedule({
  job,
}: {
  job: Pick<Schemas["Job"], "schedule" | "understood_as" | "workflow" | "expect_every">;
}) {
  if (job.schedule === null) {
    return <>{job.workflow === null ? "None: runs only on demand" : "The schedule of its workflow"}</>;
  }
  if (job.expect_every !== null) {
    return <>{`If no ping arrives for ${job.expect_every.toLocaleString("en")} s`}</>;
  }
  return (
    <>
      <div>{job.understood_as ?? "The schedule is no longer valid"}</div>
      {[job.schedule].flat().map((each) => (
        <div key={each} className="text">
          <code>{each}</code>
        </div>
      ))}
    </>
  );
}

const MOVED: Record<string, string> = {
  previous: "; runs move to the previous day that is not excluded",
  next: "; runs move to the next day that is not excluded",
};

function Excluded({
  job,
  calendars,
}: {
  job: Pick<Schemas["Job"], "exclude" | "on_excluded">;
  calendars: readonly string[];
}) {
  return (
    <span className="text">
      {job.exclude.join(", ")}
      {calendars.map((each, place) => (
        <Fragment key={each}>
          {place + job.exclude.length > 0 && ", "}
          <Link href={to.calendar(each)}>{each}</Link>
        </Fragment>
      ))}
      {MOVED[job.on_excluded]}
    </span>
  );
}

function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <SpaceBetween direction="horizontal" size="xxs">
      {tags.map((tag) => (
        <a key={tag} href={`#/jobs?tag=${encodeURIComponent(tag)}`}>
          <Badge>{tag}</Badge>
        </a>
      ))}
    </SpaceBetween>
  );
}

function Runbook({ url }: { url: string }) {
  if (!/^https?:\/\//i.test(url)) return <span className="text">{url}</span>;
  return (
    <Link href={url} external>
      <span className="text">{url}</span>
    </Link>
  );
}
