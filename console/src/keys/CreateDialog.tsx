import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Checkbox from "@cloudscape-design/components/checkbox";
import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import RadioGroup from "@cloudscape-design/components/radio-group";
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

/** The parts of a text with commas between them. */
const listed = (text: string) =>
  text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");

/** Creates a key, and shows its trigger URL and its secret, or its text, which only this dialog has. */
export function CreateDialog({ close }: { close(): void }) {
  const [use, setUse] = useState("runs");
  const [job, setJob] = useState("");
  const [reads, setReads] = useState(true);
  const [writes, setWrites] = useState(false);
  const [tags, setTags] = useState("");
  const [description, setDescription] = useState("");
  const [days, setDays] = useState(EXPIRY.standard);
  const [debounce, setDebounce] = useState("");
  const [events, setEvents] = useState("");
  const [signed, setSigned] = useState(false);
  const scopes = [...(reads ? ["jobs:read"] : []), ...(writes ? ["jobs:write"] : [])];
  const creation = useAction("Create API key", async () => {
    const limited = listed(tags).flatMap((tag) => scopes.map((scope) => `${scope}:tag=${tag}`));
    const shared = { description, expires_in_days: Number(days), requests_per_minute: 60 };
    const body =
      use === "api"
        ? { ...shared, scope: (limited.length > 0 ? limited : scopes).join(" ") }
        : {
            ...shared,
            scope: `run:${job.trim()}`,
            debounce_seconds: debounce === "" ? null : Number(debounce),
            signed,
            events: listed(events),
          };
    return (await fetcher.POST("/v1/keys", { body })).data;
  });
  const made = creation.answer ?? null;
  const base = API.href.replace(/\/$/, "");
  const secret = made?.secret ?? null;
  return (
    <Modal
      visible
      header={made === null ? "Create API key" : "The key was created"}
      onDismiss={({ detail }) => detail.reason !== "overlay" && close()}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            {made === null ? (
              <>
                <Button variant="link" onClick={close}>
                  Cancel
                </Button>
                <Button
                  variant="primary"
                  loading={creation.busy}
                  disabled={use === "api" ? scopes.length === 0 : job.trim() === ""}
                  disabledReason={
                    use === "api" ? "Choose what the key permits." : "Enter the job that the key can run."
                  }
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
      {made === null ? (
        <SpaceBetween size="m">
          <FormField label="Use">
            <RadioGroup
              value={use}
              onChange={({ detail }) => setUse(detail.value)}
              items={[
                { value: "runs", label: "Start runs", description: "A trigger URL, such as for a webhook." },
                {
                  value: "api",
                  label: "Call the API",
                  description: "A script or a dashboard, without a token.",
                },
              ]}
            />
          </FormField>
          {use === "runs" && (
            <FormField label="Job" description="The key can run only this job.">
              <Input value={job} onChange={({ detail }) => setJob(detail.value)} />
            </FormField>
          )}
          {use === "api" && (
            <SpaceBetween size="m">
              <Checkbox
                checked={reads}
                description="All requests that only read (jobs:read)."
                onChange={({ detail }) => setReads(detail.checked)}
              >
                Read
              </Checkbox>
              <Checkbox
                checked={writes}
                description="Create, change and run jobs; cancel and redrive runs (jobs:write)."
                onChange={({ detail }) => setWrites(detail.checked)}
              >
                Write
              </Checkbox>
              <FormField
                label="Tags"
                description="The key permits requests only about jobs with one of these tags. If the field is empty, about all jobs."
                constraintText="Separated by commas"
              >
                <Input value={tags} onChange={({ detail }) => setTags(detail.value)} />
              </FormField>
            </SpaceBetween>
          )}
          <FormField label="Description" description="The system that uses the key.">
            <Input value={description} onChange={({ detail }) => setDescription(detail.value)} />
          </FormField>
          <FormField label="Days until expiry" constraintText={`From ${EXPIRY.low} to ${EXPIRY.high}`}>
            <Input type="number" value={days} onChange={({ detail }) => setDays(detail.value)} />
          </FormField>
          {use === "runs" && (
            <SpaceBetween size="m">
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
            </SpaceBetween>
          )}
          <ProblemBox error={creation.error} />
        </SpaceBetween>
      ) : (
        <SpaceBetween size="m">
          <Alert type="warning">
            {made.path === "/key"
              ? "Copy the key now; it cannot be shown again."
              : secret === null
                ? "This URL contains the key. Copy it now; it cannot be shown again."
                : "Copy the URL and the secret now; they cannot be shown again."}
          </Alert>
          {made.path === "/key" ? (
            <SpaceBetween size="m">
              <Shown name="key" text={made.key} />
              <Box>
                Send it in the header <code>Authorization: Bearer</code> to the paths below{" "}
                <code>{`${base}${made.path}/v1`}</code>. Commands use it in <code>DUECOURSE_API_KEY</code>.
              </Box>
            </SpaceBetween>
          ) : (
            <Shown name="URL" text={`${base}${made.path}`} />
          )}
          {secret !== null && <Shown name="secret" text={secret} />}
        </SpaceBetween>
      )}
    </Modal>
  );
}
