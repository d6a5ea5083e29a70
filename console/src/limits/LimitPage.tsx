import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { fetcher, LIVE } from "../api/client";
import { asProblem } from "../api/problem";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { Rows } from "../shared/Rows";
import { RunStatus } from "../shared/Status";
import { useConfirm } from "../shared/useConfirm";
import { breakerText, limitText, rateText } from "./texts";

export default function LimitPage() {
  const { limitKey = "" } = useParams();
  return <Limit key={limitKey} limitKey={limitKey} />;
}

function Limit({ limitKey }: { limitKey: string }) {
  const params = { path: { limit_key: limitKey } };
  const found = useQuery({
    queryKey: ["limit", limitKey],
    queryFn: async ({ signal }) => (await fetcher.GET("/v1/limits/{limit_key}", { params, signal })).data,
    refetchInterval: LIVE,
  });
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const notices = useNotices();
  const navigate = useNavigate();
  const client = useQueryClient();
  const zone = useZone();
  const { ask, modal } = useConfirm();
  const [write, ops] = [useRefusal("jobs:write"), useRefusal("ops")];
  const refusal = write && ops;
  const limit = found.data;
  if (limit === undefined) {
    if (found.error === null) return <Spinner size="large" />;
    if (asProblem(found.error).status === 404) {
      return <NotFound what="Limit" list={{ href: "#/limits", text: "Limits" }} />;
    }
    return <ProblemBox error={found.error} retry={() => void found.refetch()} />;
  }

  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await fetcher.PUT("/v1/limits/{limit_key}", {
        params,
        body: { concurrency: Number(typed), rate: limit.rate, breaker: limit.breaker },
      });
      notices.done(`The limit of ${limitKey} is ${typed}.`);
      setTyped("");
      await client.invalidateQueries();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const remove = () =>
    ask({
      header: "Delete the limit?",
      text: "The stored limit, rate and circuit breaker of this key are deleted, and the values in the jobs apply again. Waiting runs may start.",
      action: "Delete the limit",
      async run() {
        await fetcher.DELETE("/v1/limits/{limit_key}", { params });
        notices.done(`The limit of ${limitKey} is deleted.`, { next: true });
        await client.invalidateQueries({ queryKey: ["limits"] });
        navigate("/limits");
      },
    });
  const release = (id: string) =>
    ask({
      header: "Release the place?",
      text: `${id} no longer counts towards the limit, so the next waiting run starts. ${id} itself is not stopped. If it is still in progress, the number of active runs then exceeds the limit.`,
      action: "Release the place",
      async run() {
        await fetcher.POST("/v1/limits/{limit_key}/release", { params, body: { run_id: id } });
        notices.done("The place was released.");
        await client.invalidateQueries();
      },
    });
  const hold = () =>
    ask({
      header: "Hold the key for one hour?",
      text: "No attempt with this key starts for one hour. Active runs continue.",
      action: "Hold the key",
      async run() {
        await fetcher.POST("/v1/limits/{limit_key}/hold", { params, body: { seconds: 3600 } });
        notices.done(`${limitKey} is held for one hour.`);
        await client.invalidateQueries();
      },
    });
  const close = () =>
    ask({
      header: "Let attempts start?",
      text: "The circuit breaker closes, and the pause of this key ends. Of the newest 200 queued and 200 retrying runs, those that wait for the circuit breaker start within 30 seconds. Other waiting runs keep their planned time, which is at most 15 minutes away.",
      action: "Let attempts start",
      async run() {
        await fetcher.POST("/v1/limits/{limit_key}/close", { params });
        notices.done(`Attempts with ${limitKey} start again.`);
        await client.invalidateQueries();
      },
    });
  const closed = limit.paused_until === null && limit.breaker_state === "closed";
  const run = (id: string) => (
    <span className="text">
      <Link href={to.run(id)}>{id}</Link>
    </span>
  );
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description={`Limit: ${limitText(limit.concurrency)}. Rate: ${rateText(limit.rate)}. Active runs: ${limit.active.length}. Waiting for a place: ${limit.waiting}. Waiting for the rate: ${limit.waiting_for_rate}. Waiting for the circuit breaker: ${limit.waiting_for_breaker}.`}
        actions={
          <SpaceBetween direction="horizontal" size="xs">
            {!closed && (
              <Button onClick={close} disabled={ops !== undefined} disabledReason={ops}>
                Let attempts start
              </Button>
            )}
            <Button onClick={hold} disabled={ops !== undefined} disabledReason={ops}>
              Hold for one hour
            </Button>
            {limit.updated_at !== null && (
              <Button onClick={remove} disabled={refusal !== undefined} disabledReason={refusal}>
                Delete the limit
              </Button>
            )}
          </SpaceBetween>
        }
      >
        {limitKey}
      </Header>
      <FormField
        label="New limit"
        description="The maximum number of active runs with this key, which replaces the limits in the jobs. With 0, no run starts."
      >
        <SpaceBetween direction="horizontal" size="xs">
          <Input
            type="number"
            value={typed}
            ariaLabel="New limit"
            onChange={({ detail }) => setTyped(detail.value)}
          />
          <Button
            onClick={() => void save()}
            loading={busy}
            disabled={typed === "" || refusal !== undefined}
            disabledReason={refusal}
          >
            Save
          </Button>
        </SpaceBetween>
      </FormField>
      <ProblemBox error={error} />
      {limit.paused_until !== null && (
        <Box>
          A target requested a pause, or an operator holds the key: no run with this key starts before{" "}
          <Time at={limit.paused_until} zone={zone} />.
        </Box>
      )}
      {limit.breaker_state !== "closed" && (
        <Box>
          {breakerText(limit.breaker_state, limit.breaker_failures)}{" "}
          <Time at={limit.breaker_open_until} zone={zone} />.
        </Box>
      )}
      <Rows
        items={limit.active}
        trackBy="id"
        ariaLabels={{ tableLabel: "Active runs" }}
        header={<Header variant="h2">Active runs</Header>}
        empty={<Box color="text-body-secondary">No run with this key is active.</Box>}
        columnDefinitions={[
          { id: "run", header: "Run", isRowHeader: true, width: 320, grow: 2, cell: (each) => run(each.id) },
          {
            id: "state",
            header: "State",
            width: 150,
            cell: (each) => (each.state === null ? "Starting" : <RunStatus state={each.state} />),
          },
          {
            id: "started",
            header: "Started",
            width: 190,
            cell: (each) => <Time at={each.started_at} zone={zone} />,
          },
          {
            id: "release",
            header: "Place",
            width: 130,
            cell: (each) => (
              <Button
                variant="inline-link"
                ariaLabel={`Release the place of ${each.id}`}
                disabled={ops !== undefined}
                disabledReason={ops}
                onClick={() => release(each.id)}
              >
                Release
              </Button>
            ),
          },
        ]}
      />
      <Rows
        items={limit.queue}
        trackBy="id"
        ariaLabels={{ tableLabel: "Runs that wait for a place" }}
        header={<Header variant="h2">Runs that wait for a place</Header>}
        empty={<Box color="text-body-secondary">No run waits for a place of this key.</Box>}
        columnDefinitions={[
          { id: "run", header: "Run", isRowHeader: true, width: 320, grow: 2, cell: (each) => run(each.id) },
          { id: "place", header: "Position", width: 110, labelled: true, cell: (each) => each.place },
          { id: "due", header: "Due", width: 190, cell: (each) => <Time at={each.due} zone={zone} /> },
        ]}
      />
      {limit.rate_queue.length > 0 && (
        <Rows
          items={limit.rate_queue}
          trackBy="id"
          ariaLabels={{ tableLabel: "Runs that wait for the rate" }}
          header={<Header variant="h2">Runs that wait for the rate</Header>}
          columnDefinitions={[
            {
              id: "run",
              header: "Run",
              isRowHeader: true,
              width: 320,
              grow: 2,
              cell: (each) => run(each.id),
            },
            {
              id: "next",
              header: "Next start",
              width: 190,
              cell: (each) => <Time at={each.next_attempt_at} zone={zone} />,
            },
          ]}
        />
      )}
      {modal}
    </SpaceBetween>
  );
}
