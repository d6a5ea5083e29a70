import Checkbox from "@cloudscape-design/components/checkbox";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Textarea from "@cloudscape-design/components/textarea";
import { type ReactNode, useEffect, useState } from "react";
import { type When, WhenInput, whenAt, whenOf } from "../shared/WhenInput";
import { same, valueAt } from "./document";
import type { Field } from "./fields";
import { Notices } from "./Notices";
import { meant, shown } from "./texts";
import { type Editor, errorOf } from "./useEditor";

/** The fields of a group in two columns, after the `children`. */
export function Fields({
  fields,
  editor,
  children,
}: {
  fields: readonly Field[];
  editor: Editor;
  children?: ReactNode;
}) {
  return (
    <ColumnLayout columns={2}>
      {children}
      {fields.map((each) => (
        <FieldInput key={each.path.join("/")} field={each} editor={editor} />
      ))}
    </ColumnLayout>
  );
}

/** Rarely used fields, collapsed until the user expands them or one of them is rejected. */
export function RareFields({
  text,
  fields,
  editor,
}: {
  text: string;
  fields: readonly Field[];
  editor: Editor;
}) {
  const [open, setOpen] = useState(false);
  const refused = fields.some(({ path }) => errorOf(editor.errors, path) !== undefined);
  useEffect(() => {
    if (refused) setOpen(true);
  }, [refused]);
  return (
    <ExpandableSection headerText={text} expanded={open} onChange={({ detail }) => setOpen(detail.expanded)}>
      <Fields fields={fields} editor={editor} />
    </ExpandableSection>
  );
}

export function FieldInput({ field, editor }: { field: Field; editor: Editor }) {
  const value = valueAt(editor.doc, field.path);
  if (field.kind === "flag") {
    return (
      <FormField errorText={errorOf(editor.errors, field.path)}>
        <Checkbox
          checked={value === true}
          onChange={({ detail }) => editor.set(field.path, detail.checked || undefined)}
        >
          {field.label}
        </Checkbox>
      </FormField>
    );
  }
  if (field.kind === "auth") return <Auth field={field} editor={editor} />;
  if (field.kind === "notices") return <Notices editor={editor} most={field.most ?? 10} />;
  if (field.kind === "instant") return <Instant field={field} editor={editor} />;
  if (field.kind === "choice") return <Choice field={field} editor={editor} />;
  return <Text field={field} editor={editor} />;
}

/** An instant in UTC. It is set when both its day and its time are there. */
function Instant({ field, editor }: { field: Field; editor: Editor }) {
  const value = valueAt(editor.doc, field.path);
  const stored = typeof value === "string" ? whenAt(value, "UTC") : NEVER;
  const [typed, setTyped] = useState<When | null>(null);
  const when = typed ?? stored;
  return (
    <FormField label={field.label} description={field.hint} errorText={errorOf(editor.errors, field.path)}>
      <WhenInput
        when={when}
        zone="UTC"
        onChange={(changed) => {
          const instant = whenOf(changed, "UTC");
          const cleared = changed.day === "" && changed.time === "";
          setTyped(instant === null && !cleared ? changed : null);
          if (instant !== null || cleared) editor.set(field.path, instant ?? undefined);
        }}
      />
    </FormField>
  );
}

const NEVER: When = { day: "", time: "" };

function Choice({ field, editor }: { field: Field; editor: Editor }) {
  const value = shown("text", valueAt(editor.doc, field.path) ?? field.standard);
  const options = (field.options ?? []).map((each) => ({ ...each }));
  const chosen = options.find((each) => each.value === value) ?? { value, label: value };
  return (
    <FormField label={field.label} description={field.hint} errorText={errorOf(editor.errors, field.path)}>
      <Select
        selectedOption={chosen}
        options={options}
        onChange={({ detail }) => editor.set(field.path, detail.selectedOption.value)}
      />
    </FormField>
  );
}

const LOGINS: Record<string, string> = {
  none: "None",
  basic: "User name and password",
  oauth: "OAuth (client credentials)",
  oidc: "Token of the stage (OIDC)",
};
const SECRET: Partial<Field> = { hint: "The name of the secret, not its value." };
const OF_LOGIN: Record<string, [name: string, label: string, more: Partial<Field>][]> = {
  basic: [
    ["username", "User name", {}],
    ["secret", "Password", SECRET],
  ],
  oauth: [
    ["token_url", "Token URL", { hint: "For example, https://login.example.com/token." }],
    ["client_id", "Client id", {}],
    ["secret", "Client secret", SECRET],
    ["scope", "Scope", {}],
    ["audience", "Audience", {}],
  ],
  oidc: [["audience", "Audience", { hint: "The aud claim of the token, such as https://example.com." }]],
};

/** How a call logs in: its kind, and the fields of that kind. */
function Auth({ field, editor }: { field: Field; editor: Editor }) {
  const type = valueAt(editor.doc, [...field.path, "type"]);
  const kind = typeof type === "string" && Object.hasOwn(LOGINS, type) ? type : "none";
  const fields = (OF_LOGIN[kind] ?? []).map(
    ([name, label, more]): Field => ({ path: [...field.path, name], label, kind: "text", ...more }),
  );
  const elsewhere = editor.errors.filter(
    ({ field: place }) =>
      !fields.some(({ path }) => place === path.join("/") || place.startsWith(`${path.join("/")}/`)),
  );
  return (
    <SpaceBetween size="m">
      <FormField label={field.label} errorText={errorOf(elsewhere, field.path)}>
        <Select
          selectedOption={{ value: kind, label: LOGINS[kind] }}
          options={Object.entries(LOGINS).map(([value, label]) => ({ value, label }))}
          onChange={({ detail: { selectedOption } }) =>
            editor.set(
              field.path,
              selectedOption.value === "none" ? undefined : { type: selectedOption.value ?? "basic" },
            )
          }
        />
      </FormField>
      {fields.map((each) => (
        <FieldInput key={`${kind} ${each.path.join("/")}`} field={each} editor={editor} />
      ))}
    </SpaceBetween>
  );
}

/** The text of a value. The typed text stays unchanged as long as it has the same value. */
function Text({ field, editor }: { field: Field; editor: Editor }) {
  const { path, kind } = field;
  const value = valueAt(editor.doc, path);
  const [typed, setTyped] = useState("");
  const broken = editor.written.broken[path.join("/")];
  const text = broken ?? (means(kind, typed, value) ? typed : shown(kind, value));
  const change = ({ detail }: { detail: { value: string } }) => {
    setTyped(detail.value);
    try {
      editor.set(path, meant(kind, detail.value));
    } catch {
      editor.setBroken(path, detail.value);
    }
  };
  const common = {
    value: text,
    onChange: change,
    placeholder: field.standard,
    spellcheck: kind === "area",
    autoComplete: false,
  };
  return (
    <FormField
      label={field.label}
      description={field.hint}
      constraintText={field.high === undefined ? undefined : `From ${field.low} to ${field.high}.`}
      stretch={kind === "json" || kind === "pairs"}
      errorText={
        broken === undefined ? errorOf(editor.errors, path) : `This is not valid JSON: ${reason(broken)}`
      }
    >
      {kind === "area" || kind === "json" || kind === "pairs" ? (
        <Textarea
          {...common}
          rows={kind === "json" ? Math.min(16, Math.max(4, text.split("\n").length)) : 2}
        />
      ) : (
        <Input {...common} inputMode={kind === "number" ? "decimal" : undefined} />
      )}
    </FormField>
  );
}

function means(kind: Field["kind"], typed: string, value: ReturnType<typeof valueAt>): boolean {
  try {
    return same(meant(kind, typed) ?? null, value ?? null);
  } catch {
    return false;
  }
}

function reason(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return (error as SyntaxError).message;
  }
}
