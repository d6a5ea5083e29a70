import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Form from "@cloudscape-design/components/form";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useEffect, useState } from "react";
import { api, type Schemas } from "../api/client";
import { to } from "../app/routes";
import { ProblemBox } from "../shared/ProblemBox";
import { inZone, wall } from "../shared/time";
import { useFilters } from "../shared/useFilters";
import { instantOf } from "../shared/wallInput";

/** Why a job ran at an instant, or did not. The instant is in the address. */
export function WhyTab({ job }: { job: Schemas["Job"] }) {
  const [{ at }, change] = useFilters(["at"]);
  const shown = at === undefined ? "" : wall(at, job.timezone);
  const [text, setText] = useState(shown);
  useEffect(() => setText(shown), [shown]);
  const instant = instantOf(text, job.timezone);
  const ask = () => instant !== null && change({ at: instant });
  return (
    <SpaceBetween size="m">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <Form>
          <SpaceBetween size="s">
            <FormField
              label="Time"
              constraintText={`2026-03-29 02:30, in the time zone ${job.timezone}`}
              errorText={
                text !== "" &&
                instant === null &&
                "Use the format 2026-03-29 02:30, and a time that exists in the time zone."
              }
            >
              <Input value={text} onChange={({ detail }) => setText(detail.value)} />
            </FormField>
            <Button formAction="submit" disabled={instant === null} disabledReason="Enter a time.">
              Explain
            </Button>
          </SpaceBetween>
        </Form>
      </form>
      {at !== undefined && <Answer job={job} at={at} />}
    </SpaceBetween>
  );
}

function Answer({ job, at }: { job: Schemas["Job"]; at: string }) {
  const { data, error, refetch } = api.useQuery("get", "/v1/jobs/{job_id}/explain", {
    params: { path: { job_id: job.id }, query: { at } },
  });
  if (error !== null) return <ProblemBox error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  const { before, after } = data.nearest;
  return (
    <Alert header={`${inZone(data.at, job.timezone)}: ${data.verdict.replaceAll("_", " ")}`}>
      <div className="text">{data.sentence}</div>
      {data.run !== null && <Link href={to.run(data.run.id)}>Run {data.run.id}</Link>}
      <div>
        {before !== null && (
          <Link href={why(job.id, before)}>Previous occurrence: {inZone(before, job.timezone)}</Link>
        )}
      </div>
      <div>
        {after !== null && (
          <Link href={why(job.id, after)}>Next occurrence: {inZone(after, job.timezone)}</Link>
        )}
      </div>
    </Alert>
  );
}

/** The address of this tab for an instant. */
export function why(jobId: string, at: string): string {
  return `${to.job(jobId)}?tab=why&at=${encodeURIComponent(at)}`;
}
