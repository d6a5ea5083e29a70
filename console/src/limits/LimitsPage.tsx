import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Link from "@cloudscape-design/components/link";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { useNavigate } from "react-router";
import { fetcher } from "../api/client";
import { useRefusal } from "../app/context";
import { to } from "../app/routes";
import { PagedTable } from "../shared/PagedTable";
import { usePages } from "../shared/usePages";
import { LimitForm } from "./LimitForm";
import { isComplete, limitText, rateText, UNCOUNTED, waitingText } from "./texts";

const NONE = { concurrency: null, rate: null, breaker: null, updated_at: null };

export default function LimitsPage() {
  const pages = usePages(["limits"], async (cursor, signal) => {
    const { data } = await fetcher.GET("/v1/limits", { params: { query: { limit: 50, cursor } }, signal });
    return data ?? { items: [], next_cursor: null };
  });
  const [creating, setCreating] = useState(false);
  const [key, setKey] = useState("");
  const navigate = useNavigate();
  const refusal = useRefusal("jobs:write");
  return (
    <>
      {creating && (
        <Modal
          visible
          header="Create limit"
          onDismiss={({ detail }) => detail.reason !== "overlay" && setCreating(false)}
        >
          <SpaceBetween size="m">
            <FormField label="Key" description="As in the concurrency, rate or breaker field of the jobs.">
              <Input value={key} onChange={({ detail }) => setKey(detail.value.trim())} />
            </FormField>
            <LimitForm
              limitKey={key}
              stored={NONE}
              etag={null}
              saved={() => void navigate(to.limit(key).slice(1))}
            />
          </SpaceBetween>
        </Modal>
      )}
      <SpaceBetween size="l">
        {!isComplete(pages.page) && <Alert type="warning">{UNCOUNTED}</Alert>}
        <PagedTable
          pages={pages}
          ariaLabels={{ tableLabel: "Limits" }}
          header={
            <Header
              variant="h1"
              actions={
                <Button
                  variant="primary"
                  disabled={refusal !== undefined}
                  disabledReason={refusal}
                  onClick={() => setCreating(true)}
                >
                  Create limit
                </Button>
              }
              description="Keys that have a stored limit, rate or circuit breaker, or waiting runs. The keys of a job are in its concurrency, rate and breaker fields."
            >
              Limits
            </Header>
          }
          empty={
            isComplete(pages.page)
              ? "No key has a stored limit, rate or circuit breaker, or waiting runs."
              : "No key was found."
          }
          columnDefinitions={[
            {
              id: "key",
              header: "Key",
              isRowHeader: true,
              width: 220,
              grow: 2,
              cell: (each) => (
                <span className="text">
                  <Link href={to.limit(each.key)}>{each.key}</Link>
                </span>
              ),
            },
            { id: "limit", header: "Limit", width: 160, cell: (each) => limitText(each.concurrency) },
            { id: "rate", header: "Rate", width: 210, cell: (each) => rateText(each.rate) },
            { id: "waiting", header: "Waiting runs", width: 220, grow: 1, wraps: true, cell: waitingText },
            { id: "by", header: "Set by", width: 140, grow: 1, cell: (each) => each.updated_by },
          ]}
        />
      </SpaceBetween>
    </>
  );
}
