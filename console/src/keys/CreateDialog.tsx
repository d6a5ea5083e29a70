import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Checkbox from "@cloudscape-design/components/checkbox";
import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { fetcher } from "../api/client";
import { API } from "../app/settings";
import { requests } from "../shared/kinds.json";
import { ProblemBox } from "../shared/ProblemBox";
import { useAction } from "../shared/useAction";

const { expires_in_days: EXPIRY, debounce_seconds: DEBOUNCE } = requests.KeyRequest;

/** A text with a button that copies it. */
function Shown({ name, text }: { name: string; text: string }) {
  return (
    <SpaceBetween size="xs">
      <div className="text">
        <code>{text}</code>
      </div>
      <CopyToClipboard
        copyButtonText={`Copy the ${name}`}
        textToCopy={text}
        copySuccessText="Copied"
        copyErrorText="The browser did not allow copying"
      />
    </SpaceBetween>
  );
}

/** Creates a key, and shows its trigger URL and its secret, which only this dialog has. */
export function CreateDialog({ close }: { close(): void }) {
  const [job, setJob] = useState("");
  const [description, setDescription] = useState("");
  const [days, setDays] = useState(EXPIRY.standard);
  const [debounce, setDebounce] = useState("");
  const [events, setEvents] = useState("");
  const [signed, setSigned] = useState(false);
  const creation = useAction("Create API key", async () => {
    const body = {
      scope: `run:${job.trim()}`,
      description,
      expires_in_days: Number(days),
      requests_per_minute: 60,
      debounce_seconds: debounce === "" ? null : Number(debounce),
      signed,
      events: events
        .split(",")
        .map((each) => each.trim())
        .filter((each) => each !== ""),
    };
    return (await fetcher.POST("/v1/keys", { body })).data;
  });
  const { path, secret } = creation.answer ?? { path: null, secret: null };
  const url = path && `${API.href.replace(/\/$/, "")}${path}`;
  return (
    <Modal
      visible
      header={url === null ? "Create API key" : "The key was created"}
      onDismiss={({ detail }) => detail.reason !== "overlay" && close()}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            {url === null ? (
              <>
                <Button variant="link" onClick={close}>
                  Cancel
                </Button>
                <Button
                  variant="primary"
                  loading={creation.busy}
                  disabled={job.trim() === ""}
                  disabledReason="Enter the job that the key can run."
                  onClick={() => creation.run()}
                >
                  Create API key
                </Button>
              </>
            ) : (
              <Button variant="primary" onClick={close}>
                Close
              </Button>
            )}
          </SpaceBetween>
        </Box>
      }
    >
      {url === null ? (
        <SpaceBetween size="m">
          <FormField label="Job" description="The key can run only this job.">
            <Input value={job} onChange={({ detail }) => setJob(detail.value)} />
          </FormField>
          <FormField label="Description" description="The system that uses the key.">
            <Input value={description} onChange={({ detail }) => setDescription(detail.value)} />
          </FormField>
          <FormField label="Days until expiry" constraintText={`From ${EXPIRY.low} to ${EXPIRY.high}`}>
            <Input type="number" value={days} onChange={({ detail }) => setDays(detail.value)} />
          </FormField>
          <FormField
            label="Debounce (seconds)"
            description="All requests within this many seconds start one run, with the last payload. If the field is empty, each request starts a run, except repeats with the same idempotency key."
            constraintText={`From ${DEBOUNCE.low} to ${DEBOUNCE.high}`}
          >
            <Input type="number" value={debounce} onChange={({ detail }) => setDebounce(detail.value)} />
          </FormField>
          <FormField
            label="GitHub events"
            description="Only these events start runs. If the field is empty, all events do, except ping."
            constraintText="Separated by commas, such as push, release"
          >
            <Input value={events} onChange={({ detail }) => setEvents(detail.value)} />
          </FormField>
          <Checkbox
            checked={signed}
            description="The sender signs each body with a secret, as GitHub does (X-Hub-Signature-256)."
            onChange={({ detail }) => setSigned(detail.checked)}
          >
            Require signatures
          </Checkbox>
          <ProblemBox error={creation.error} />
        </SpaceBetween>
      ) : (
        <SpaceBetween size="m">
          <Alert type="warning">
            {secret === null
              ? "This URL contains the key. Copy it now; it cannot be shown again."
              : "Copy the URL and the secret now; they cannot be shown again."}
          </Alert>
          <Shown name="URL" text={url} />
          {secret !== null && <Shown name="secret" text={secret} />}
        </SpaceBetween>
      )}
    </Modal>
  );
}
