import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { fetcher } from "../api/client";
import { API } from "../app/settings";
import { ProblemBox } from "../shared/ProblemBox";

/** Creates a key, and shows its trigger URL, which only this dialog has. */
export function CreateDialog({ close }: { close(): void }) {
  const [job, setJob] = useState("");
  const [description, setDescription] = useState("");
  const [days, setDays] = useState("90");
  const [debounce, setDebounce] = useState("");
  const [url, setUrl] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const client = useQueryClient();
  const create = async () => {
    setBusy(true);
    setError(null);
    try {
      const body = {
        scope: `run:${job.trim()}`,
        description,
        expires_in_days: Number(days),
        requests_per_minute: 60,
        debounce_seconds: debounce === "" ? null : Number(debounce),
      };
      const { data } = await fetcher.POST("/v1/keys", { body });
      setUrl(data === undefined ? null : `${API.href.replace(/\/$/, "")}${data.path}`);
      await client.invalidateQueries({ queryKey: ["keys"] });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal
      visible
      header={url === null ? "Create a key" : "The key was created"}
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
                  loading={busy}
                  disabled={job.trim() === ""}
                  disabledReason="Enter the job that the key can run."
                  onClick={() => void create()}
                >
                  Create the key
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
          <FormField label="Days until it expires" constraintText="From 1 to 366">
            <Input type="number" value={days} onChange={({ detail }) => setDays(detail.value)} />
          </FormField>
          <FormField
            label="Combine requests within (seconds)"
            description="If it is empty, each request starts a run."
            constraintText="From 1 to 3600"
          >
            <Input type="number" value={debounce} onChange={({ detail }) => setDebounce(detail.value)} />
          </FormField>
          <ProblemBox error={error} />
        </SpaceBetween>
      ) : (
        <SpaceBetween size="m">
          <Alert type="warning">This URL contains the key. Copy it now; it cannot be shown again.</Alert>
          <div className="text">
            <code>{url}</code>
          </div>
          <CopyToClipboard
            copyButtonText="Copy the URL"
            textToCopy={url}
            copySuccessText="Copied"
            copyErrorText="The browser did not allow copying"
          />
        </SpaceBetween>
      )}
    </Modal>
  );
}
