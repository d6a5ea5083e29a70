import Autosuggest from "@cloudscape-design/components/autosuggest";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../api/client";
import { to } from "../app/routes";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { RunStatus } from "../shared/Status";
import { wall } from "../shared/time";
import { useFilters } from "../shared/useFilters";
import { useSettled } from "../shared/useSettled";
import { instantOf } from "../shared/wallInput";

const SUGGESTED = 20;

/** A job and a time, and the API's explanation. The input is in the address. */
export default function WhyForm() {
  const [{ job, at }, ask] = useFilters(["job", "at"]);
  const [typed, setTyped] = useState(job ?? "");
  const [when, setWhen] = useState<string | null>(null);
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
  const shown = when ?? (at === undefined ? "" : wall(at, zone));
  const submit = () => {
    const instant = instantOf(shown, zone);
    const wrong = {
      ...(typed === "" && { job: "Enter a job." }),
      ...(instant === null && { when: "Use the format 2026-03-29 02:00, with optional seconds." }),
    };
    setRefused(wrong);
    if (instant !== null && typed !== "") ask({ job: typed, at: instant });
  };
  return (
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
                suggested.data?.items.map((each) => ({ value: each.id, description: each.name ?? "" })) ?? []
              }
              filteringType="manual"
              statusType={suggested.isFetching || prefix !== typed ? "loading" : "finished"}
              loadingText="Loading"
              enteredTextLabel={(value) => `Use ${value}`}
              empty="No jobs have an id that starts with this text."
              placeholder="nightly-report"
            />
          </FormField>
          <FormField label={`When it was due (${zone})`} errorText={refused.when}>
            <Input
              value={shown}
              onChange={({ detail }) => setWhen(detail.value)}
              placeholder="2026-03-29 02:00"
            />
          </FormField>
          <Button variant="primary" formAction="submit">
            Explain
          </Button>
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
      <Facts facts={found.facts} />
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

function Facts({ facts }: { facts: Schemas["Explained"]["facts"] }) {
  const shown = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined);
  if (shown.length === 0) return null;
  return (
    <ul>
      {shown.map(([name, value]) => (
        <li key={name} className="text">
          {name.replace(/_/g, " ")}: {typeof value === "object" ? JSON.stringify(value) : String(value)}
        </li>
      ))}
    </ul>
  );
}
