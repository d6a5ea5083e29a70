import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { fetcher, type Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { ProblemBox } from "../shared/ProblemBox";
import { useAction } from "../shared/useAction";
import { useConfirm } from "../shared/useConfirm";

type Stored = Pick<Schemas["SingleLimit"], "concurrency" | "rate" | "breaker" | "updated_at">;

const FIELDS = {
  concurrency: { label: "Maximum active runs", hint: "With 0, no run starts.", error: "concurrency" },
  per_minute: { label: "Attempts per minute", hint: "", error: "rate/per_minute" },
  burst: { label: "Burst", hint: "The attempts that start at once; 1 if empty.", error: "rate/burst" },
  failures: { label: "Failures that open the breaker", hint: "In a row.", error: "breaker/failures" },
  open_seconds: { label: "Open for (seconds)", hint: "60 if empty.", error: "breaker/open_seconds" },
} as const;
type Values = Record<keyof typeof FIELDS, string>;

const valuesOf = ({ concurrency, rate, breaker }: Stored): Values => ({
  concurrency: String(concurrency ?? ""),
  per_minute: String(rate?.per_minute ?? ""),
  burst: String(rate?.burst ?? ""),
  failures: String(breaker?.failures ?? ""),
  open_seconds: String(breaker?.open_seconds ?? ""),
});

function bodyOf(values: Values): Schemas["LimitRequest"] {
  const { concurrency, per_minute, burst, failures, open_seconds } = values;
  return {
    concurrency: concurrency === "" ? null : Number(concurrency),
    rate: per_minute === "" ? null : { per_minute: Number(per_minute), burst: Number(burst || 1) },
    breaker:
      failures === "" ? null : { failures: Number(failures), open_seconds: Number(open_seconds || 60) },
  };
}

/** The limits of a key. An empty field leaves the values of the jobs. `etag` is the version of `stored`; null: there
 * are no stored limits. `saved` is called afterwards. */
export function LimitForm({
  limitKey,
  stored,
  etag,
  saved,
}: {
  limitKey: string;
  stored: Stored;
  etag: string | null;
  saved?(): void;
}) {
  // What is edited, and the version that it replaces; null: nothing is edited.
  const [edit, setEdit] = useState<{ values: Values; base: string | null } | null>(null);
  const values = edit?.values ?? valuesOf(stored);
  const notices = useNotices();
  const refusal = useRefusal("jobs:write");
  const { ask, modal } = useConfirm();
  const params = { path: { limit_key: limitKey } };
  const put = async () => {
    const base = edit === null ? etag : edit.base;
    const header = base === null ? ({ "If-None-Match": "*" } as const) : { "If-Match": base };
    await fetcher.PUT("/v1/limits/{limit_key}", { params: { ...params, header }, body: bodyOf(values) });
  };
  const done = () => {
    notices.done(`The limits of ${limitKey} are saved.`, { next: saved !== undefined });
    setEdit(null);
    saved?.();
  };
  const saving = useAction("Save", put, { done });
  const save = () => {
    if (values.concurrency !== "0" || stored.concurrency === 0) return saving.run();
    ask({
      header: "Stop all runs with this key?",
      text: `With a limit of 0, no run with the key ${limitKey} starts until the limit is changed. Active runs continue.`,
      action: "Save a limit of 0",
      grave: true,
      run: () => put().then(done),
    });
  };
  const problem = saving.error === null ? null : asProblem(saving.error);
  const overtaken = problem?.status === 412;
  const faults = overtaken ? [] : (problem?.fields ?? []);
  return (
    <SpaceBetween size="s">
      <ColumnLayout columns={3} minColumnWidth={180}>
        {(Object.keys(FIELDS) as (keyof Values)[]).map((name) => (
          <FormField
            key={name}
            label={FIELDS[name].label}
            constraintText={FIELDS[name].hint}
            errorText={faults.find(({ field }) => field === FIELDS[name].error)?.message}
          >
            <Input
              type="number"
              value={values[name]}
              placeholder="set in the jobs"
              onChange={({ detail }) =>
                setEdit({
                  values: { ...values, [name]: detail.value },
                  base: edit === null ? etag : edit.base,
                })
              }
            />
          </FormField>
        ))}
      </ColumnLayout>
      {overtaken ? (
        <Alert type="error" header="The limits of this key were changed in the meantime">
          Nothing was saved. Discard your changes to see the new limits, and make your changes again.
        </Alert>
      ) : (
        faults.length === 0 && <ProblemBox error={saving.error} />
      )}
      <SpaceBetween direction="horizontal" size="xs">
        <Button
          variant="primary"
          onClick={save}
          loading={saving.busy}
          disabled={edit === null || limitKey === "" || refusal !== undefined}
          disabledReason={refusal ?? "Change a value first."}
        >
          Save
        </Button>
        {edit !== null && (
          <Button
            variant="link"
            onClick={() => {
              setEdit(null);
              saving.reset();
            }}
          >
            Discard
          </Button>
        )}
      </SpaceBetween>
      {modal}
    </SpaceBetween>
  );
}
