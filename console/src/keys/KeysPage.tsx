import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { fetcher, type Schemas } from "../api/client";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { Long } from "../shared/Long";
import { ProblemBox } from "../shared/ProblemBox";
import { Rows } from "../shared/Rows";
import { useConfirm } from "../shared/useConfirm";
import { CreateDialog } from "./CreateDialog";

/** The day of an instant (UTC): a key expires, and was used, on a day. */
const day = (instant: string) => instant.slice(0, 10);
/** The job that a key starts; null if it permits requests to the API instead. */
const jobOf = (key: Schemas["Key"]) => (key.scope.startsWith("run:") ? key.scope.slice(4) : null);

/** What systems cannot do without a key. */
const usedFor = (job: string | null) => (job === null ? "call the API" : `run ${job}`);

/** API keys, with which systems without a login start runs or call the API. */
export default function KeysPage() {
  const found = useQuery({
    queryKey: ["keys"],
    queryFn: async ({ signal }) => (await fetcher.GET("/v1/keys", { signal })).data?.items ?? [],
  });
  const [creating, setCreating] = useState(false);
  const refusal = useRefusal("jobs:write");
  const notices = useNotices();
  const { ask, modal } = useConfirm();
  const revoke = (key: Schemas["Key"]) =>
    ask({
      header: "Revoke the key?",
      text: `Systems that use the key ${key.id} can no longer ${usedFor(jobOf(key))}.`,
      action: "Revoke the key",
      grave: true,
      async run() {
        await fetcher.DELETE("/v1/keys/{key_id}", { params: { path: { key_id: key.id } } });
        notices.done(`The key ${key.id} is revoked.`);
      },
    });
  return (
    <SpaceBetween size="l">
      <ProblemBox error={found.error} retry={() => void found.refetch()} />
      <Rows
        items={found.data ?? []}
        trackBy="id"
        loading={found.isPending}
        loadingText="Loading keys"
        ariaLabels={{ tableLabel: "API keys" }}
        header={
          <Header
            variant="h1"
            description="With an API key, a system without a login can start runs of a job, for example through a trigger URL, or call the API."
            actions={
              <Button
                variant="primary"
                onClick={() => setCreating(true)}
                disabled={refusal !== undefined}
                disabledReason={refusal}
              >
                Create API key
              </Button>
            }
          >
            API keys
          </Header>
        }
        empty={
          found.error === null && (
            <Box color="text-body-secondary">There are no API keys yet. Choose Create API key.</Box>
          )
        }
        columnDefinitions={[
          {
            id: "job",
            header: "Job or scopes",
            isRowHeader: true,
            width: 130,
            grow: 2,
            cell: (each) => {
              const job = jobOf(each);
              if (job === null) return <Long text={each.scope} header="Scopes" />;
              return (
                <span className="text">
                  <Link href={to.job(job)}>{job}</Link>
                </span>
              );
            },
          },
          { id: "id", header: "Key", width: 178, labelled: true, cell: (each) => each.id },
          {
            id: "description",
            header: "Description",
            width: 135,
            grow: 2,
            card: 100,
            wraps: true,
            has: (each) => each.description !== "",
            cell: (each) => <span className="text">{each.description}</span>,
          },
          {
            id: "expires",
            header: "Expires (UTC)",
            width: 150,
            card: 100,
            labelled: true,
            wraps: true,
            cell: (each) =>
              Date.parse(each.expires_at) <= Date.now() ? (
                <StatusIndicator type="stopped">Expired</StatusIndicator>
              ) : (
                day(each.expires_at)
              ),
          },
          {
            id: "used",
            header: "Last used (UTC)",
            width: 168,
            card: 100,
            labelled: true,
            wraps: true,
            cell: (each) => (each.last_used_at === null ? "Never" : day(each.last_used_at)),
          },
          {
            id: "signed",
            header: "Signed",
            width: 105,
            spare: true,
            card: 100,
            labelled: true,
            has: (each) => each.signed,
            cell: (each) => (each.signed ? "Yes" : ""),
          },
          {
            id: "by",
            header: "Created by",
            width: 120,
            grow: 1,
            spare: true,
            cell: (each) => each.created_by,
          },
          {
            id: "revoke",
            header: "Action",
            width: 105,
            card: 100,
            cell: (each) => (
              <Button
                variant="inline-link"
                ariaLabel={`Revoke the key ${each.id}`}
                disabled={refusal !== undefined}
                disabledReason={refusal}
                onClick={() => revoke(each)}
              >
                Revoke
              </Button>
            ),
          },
        ]}
      />
      {creating && <CreateDialog close={() => setCreating(false)} />}
      {modal}
    </SpaceBetween>
  );
}
