import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "react-router";
import { api, fetcher } from "../api/client";
import { LIST, paced } from "../api/polling";
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
import { LimitForm } from "./LimitForm";
import { breakerText, isComplete, limitText, rateText, UNCOUNTED } from "./texts";

export default function LimitPage() {
  const { limitKey = "" } = useParams();
  return <Limit key={limitKey} limitKey={limitKey} />;
}

function Limit({ limitKey }: { limitKey: string }) {
  const params = { path: { limit_key: limitKey } };
  const found = useQuery({
    queryKey: ["limit", limitKey],
    queryFn: async ({ signal }) => {
      const { data, response } = await fetcher.GET("/v1/limits/{limit_key}", { params, signal });
      if (data === undefined) throw new SyntaxError("an empty response");
      return { limit: data, etag: response.headers.get("etag") };
    },
    refetchInterval: () => paced(LIST),
  });
  const notices = useNotices();
  const navigate = useNavigate();
  const zone = useZone();
  const { ask, modal } = useConfirm();
  const [write, ops] = [useRefusal("jobs:write"), useRefusal("ops")];
  const refusal = write && ops;
  if (found.data === undefined) {
    if (found.error === null) return <Spinner size="large" />;
    if (asProblem(found.error).status === 404) {
      return <NotFound what="Limit" list={{ href: "#/limits", text: "Limits" }} />;
    }
    return <ProblemBox error={found.error} retry={() => void found.refetch()} />;
  }

  const { limit, etag } = found.data;
  const remove = () =>
    ask({
      header: "Delete the limit?",
      text: "The stored limit, rate and circuit breaker of this key are deleted, and the values in the jobs apply again. Waiting runs may start.",
      action: "Delete the limit",
      grave: true,
      async run() {
        const header = etag === null ? {} : { "If-Match": etag };
        await fetcher.DELETE("/v1/limits/{limit_key}", { params: { ...params, header } });
        notices.done(`The limit of ${limitKey} is deleted.`, { next: true });
        navigate("/limits");
      },
    });
  const release = (id: string) =>
    ask({
      header: "Release the place?",
      text: `${id} no longer counts towards the limit, so the next waiting run starts. ${id} itself is not stopped. If it is still in progress, the number of active runs then exceeds the limit.`,
      action: "Release the place",
      grave: true,
      async run() {
        await fetcher.POST("/v1/limits/{limit_key}/release", { params, body: { run_id: id } });
        notices.done("The place was released.");
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
      },
    });
  const held = limit.paused_until !== null;
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
      {!isComplete(limit) && <Alert type="warning">{UNCOUNTED}</Alert>}
      {!closed && (
        <Alert
          type="warning"
          header={
            held ? "No run with this key starts" : breakerText(limit.breaker_state, limit.breaker_failures)
          }
          action={
            <Button onClick={close} disabled={ops !== undefined} disabledReason={ops}>
              Let attempts start
            </Button>
          }
        >
          {held && <>A target requested a pause, or an operator holds the key. </>}
          {limit.breaker_state === "half_open" && !held ? "Half open since" : "The next attempt starts at"}{" "}
          <Time at={held ? limit.paused_until : limit.breaker_open_until} zone={zone} />.
        </Alert>
      )}
      <Container
        header={
          <Header variant="h2" description="They replace the values in the jobs, from the next start on.">
            Limits of the key
          </Header>
        }
      >
        <LimitForm limitKey={limitKey} stored={limit} etag={etag} />
      </Container>
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
      {limit.waiting_for_breaker > 0 && <Held limitKey={limitKey} zone={zone} />}
      {modal}
    </SpaceBetween>
  );
}

/** The runs that the circuit breaker of a key holds, among the newest waiting runs, in the order in which they wait. */
function Held({ limitKey, zone }: { limitKey: string; zone: string }) {
  const found = api.useQuery(
    "get",
    "/v1/runs",
    { params: { query: { state: "QUEUED,RETRYING", limit: 100 } } },
    { refetchInterval: () => paced(LIST) },
  );
  const runs = found.data?.items.filter(
    (run) => run.waiting_for === "breaker" && run.breaker_key === limitKey,
  );
  const sorted = runs?.toSorted((one, other) =>
    (one.waiting_since ?? "").localeCompare(other.waiting_since ?? ""),
  );
  return (
    <Rows
      items={sorted ?? []}
      trackBy="id"
      ariaLabels={{ tableLabel: "Runs that wait for the circuit breaker" }}
      header={<Header variant="h2">Runs that wait for the circuit breaker</Header>}
      loading={found.isPending}
      loadingText="Loading"
      empty={<Box color="text-body-secondary">None of the newest waiting runs.</Box>}
      columnDefinitions={[
        {
          id: "run",
          header: "Run",
          isRowHeader: true,
          width: 320,
          grow: 2,
          cell: (each) => (
            <span className="text">
              <Link href={to.run(each.id)}>{each.id}</Link>
            </span>
          ),
        },
        {
          id: "place",
          header: "Position",
          width: 110,
          labelled: true,
          cell: (each) => (sorted?.indexOf(each) ?? 0) + 1,
        },
        {
          id: "next",
          header: "Next attempt",
          width: 190,
          cell: (each) => <Time at={each.next_attempt_at} zone={zone} />,
        },
      ]}
    />
  );
}
