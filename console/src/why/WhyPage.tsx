import Autosuggest from "@cloudscape-design/components/autosuggest";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { to } from "../app/routes";
import { LAST, NIGHT, why } from "../job/WhyTab";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { RunStatus } from "../shared/Status";
import { useFilters } from "../shared/useFilters";
import { useSettled } from "../shared/useSettled";
import { type When, WhenInput, whenAt, whenOf } from "../shared/WhenInput";

const SUGGESTED = 20;

/** A job and a time, and the API's explanation. The input is in the address. */
export default function WhyPage() {
  const [{ job, at }, ask] = useFilters(["job", "at"]);
  const [typed, setTyped] = useState(job ?? "");
  const [when, setWhen] = useState<When | null>(null);
  const [refused, setRefused] = useState<{ job?: string; when?: string }>({});
  const prefix = useSettled(typed);
  const suggested = api.useQuery(
    "get",
    "/v1/jobs",
    { params: { query: { limit: SUGGESTED, ...(prefix === "" ? {} : { prefix }) } } },
    { placeholderData: keepPreviousData }, // the zone of the job that is typed already stays known
  );
  const known = suggested.data?.items.find((each) => each.id === typed);
  const zone = useZone(known?.timezone);
  const shown = when ?? whenAt(at, zone);
  const submit = () => {
    const instant = whenOf(shown, zone);
    const wrong = {
      ...(typed === "" && { job: "Enter a job." }),
      ...(instant === null && { when: "Choose a date and a time." }),
    };
    setRefused(wrong);
    if (instant !== null && typed !== "") ask({ job: typed, at: instant });
  };
  return (
    <SpaceBetween size="l">
      <Header variant="h1" description="Enter a job and a time to see why the job ran or did not run.">
        Why did it not run?
      </Header>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <SpaceBetween size="m">
          <SpaceBetween size="m" direction="horizontal" alignItems="end">
            <FormField label="Job" errorText={refused.job}>
              <Autosuggest
                value={typed}
                onChange={({ detail }) => setTyped(detail.value)}
                options={
                  suggested.data?.items.map((each) => ({ value: each.id, description: each.name ?? "" })) ??
                  []
                }
                filteringType="manual"
                statusType={suggested.isFetching || prefix !== typed ? "loading" : "finished"}
                loadingText="Loading"
                enteredTextLabel={(value) => `Use ${value}`}
                empty="No jobs have an id that starts with this text."
                placeholder="nightly-report"
              />
            </FormField>
            <WhenInput when={shown} zone={zone} error={refused.when} onChange={setWhen} />
            <Button variant="primary" formAction="submit">
              Explain
            </Button>
            {[
              ["Last occurrence", LAST],
              ["Last night", NIGHT],
            ].map(([text = "", question = ""]) => (
              <Button
                key={question}
                href={why(typed, question)}
                disabled={typed === ""}
                disabledReason="Choose a job first."
              >
                {text}
              </Button>
            ))}
          </SpaceBetween>
          {job !== undefined && at !== undefined && (
            <Explained
              job={job}
              at={at}
              zone={suggested.data?.items.find((each) => each.id === job)?.timezone}
              ask={(instant) => {
                setTyped(job);
                setWhen(null);
                ask({ job, at: instant });
              }}
            />
          )}
        </SpaceBetween>
      </form>
    </SpaceBetween>
  );
}

function Explained({
  job,
  at,
  zone,
  ask,
}: {
  job: string;
  at: string;
  zone: string | undefined;
  ask(instant: string): void;
}) {
  const explained = api.useQuery("get", "/v1/jobs/{job_id}/explain", {
    params: { path: { job_id: job }, query: { at } },
  });
  const found = explained.data;
  if (explained.error) return <ProblemBox error={explained.error} retry={() => void explained.refetch()} />;
  if (found === undefined) return <StatusIndicator type="loading">Loading</StatusIndicator>;
  const near = [
    ["Previous occurrence", found.nearest.before],
    ["Next occurrence", found.nearest.after],
  ] as const;
  return (
    <section aria-label="Explanation" aria-live="polite">
      <Box fontSize="heading-m">
        <span className="text">{found.sentence}</span>
      </Box>
      {found.run !== null && (
        <Box>
          <RunStatus state={found.run.state} /> <Link href={to.run(found.run.id)}>{found.run.id}</Link>
        </Box>
      )}
      {near.map(
        ([label, instant]) =>
          instant !== null && (
            <Box key={label}>
              {label}: <Time at={instant} zone={zone} />{" "}
              <Button variant="inline-link" formAction="none" onClick={() => ask(instant)}>
                Explain this occurrence
              </Button>
            </Box>
          ),
      )}
    </section>
  );
}
