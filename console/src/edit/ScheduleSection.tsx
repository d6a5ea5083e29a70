import Button from "@cloudscape-design/components/button";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import DatePicker from "@cloudscape-design/components/date-picker";
import FormField from "@cloudscape-design/components/form-field";
import Grid from "@cloudscape-design/components/grid";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import TimeInput from "@cloudscape-design/components/time-input";
import { HERE } from "../shared/time";
import { RareFields } from "./FieldInput";
import { SHAPE } from "./fields";
import { Preview, type usePreview } from "./Preview";
import {
  every,
  everyOf,
  firstOf,
  KINDS,
  type Kind,
  kindOf,
  MOST,
  once,
  onceOf,
  PRESETS,
  scheduleOf,
  schedulesOf,
  UNITS,
  type Unit,
} from "./schedule";
import { type Editor, errorOf } from "./useEditor";

const ZONES = zones();

/** When it runs. `step`: the workflow that runs it instead. */
export function ScheduleSection({
  editor,
  preview,
  step,
}: {
  editor: Editor;
  preview: ReturnType<typeof usePreview>;
  step: string | null;
}) {
  const { doc, set } = editor;
  const schedules = schedulesOf(doc.schedule);
  const kind = kindOf(schedules);
  const zone = typeof doc.timezone === "string" ? doc.timezone : "UTC";
  const write = (all: string[]) => set(["schedule"], scheduleOf(all));
  return (
    <Container header={<Header variant="h2">Schedule</Header>}>
      <SpaceBetween size="m">
        {step !== null ? (
          <div className="text">
            The workflow {step} starts this job; a step of a workflow cannot have its own schedule.
          </div>
        ) : (
          <SegmentedControl
            label="Kind of schedule"
            selectedId={kind}
            options={KINDS}
            onChange={({ detail }) => write(schedulesOf(firstOf(detail.selectedId as Kind, new Date())))}
          />
        )}
        {step === null && kind !== "request" && (
          <FormField
            label="When"
            // The fault of one of several is shown beside it.
            errorText={errorOf(
              editor.errors.filter(({ field }) => schedules.length < 2 || field === "schedule"),
              ["schedule"],
            )}
            stretch
          >
            <SpaceBetween size="xs">
              {schedules.length > 1 ? (
                <Several schedules={schedules} write={write} editor={editor} />
              ) : (
                <When kind={kind} schedule={schedules[0] ?? ""} write={(text) => write([text])} />
              )}
              {schedules.length < MOST && (
                <Button
                  iconName="add-plus"
                  variant="inline-link"
                  onClick={() => write([...schedules, "0 11 * * SAT"])}
                >
                  Add a schedule
                </Button>
              )}
            </SpaceBetween>
          </FormField>
        )}
        <FormField
          label="Time zone"
          description={`The time zone of the schedule. Your time zone is ${HERE}.`}
          errorText={errorOf(editor.errors, ["timezone"])}
        >
          <Select
            selectedOption={{ value: zone, label: zone }}
            options={ZONES.map((value) => ({ value, label: value }))}
            filteringType="auto"
            virtualScroll
            onChange={({ detail }) => set(["timezone"], detail.selectedOption.value)}
          />
        </FormField>
        {step === null && <Preview doc={doc} preview={preview} />}
        {step === null && (
          <RareFields
            text="Exclusions, daylight saving, start and end, missed occurrences"
            fields={SHAPE}
            editor={editor}
          />
        )}
      </SpaceBetween>
    </Container>
  );
}

/** The expressions of a job that fires at the occurrences of each. */
function Several({
  schedules,
  write,
  editor,
}: {
  schedules: string[];
  write(all: string[]): void;
  editor: Editor;
}) {
  // An entry is known by its place alone.
  return [...schedules.entries()].map(([place, schedule]) => (
    <FormField key={place} errorText={errorOf(editor.errors, ["schedule", String(place)])} stretch>
      <Grid gridDefinition={[{ colspan: 10 }, { colspan: 2 }]} disableGutters>
        <Input
          ariaLabel={`Schedule ${place + 1}`}
          value={schedule}
          spellcheck={false}
          autoComplete={false}
          onChange={({ detail }) => write(schedules.with(place, detail.value))}
        />
        <Button
          iconName="close"
          variant="icon"
          ariaLabel={`Remove schedule ${place + 1}`}
          onClick={() => write(schedules.toSpliced(place, 1))}
        />
      </Grid>
    </FormField>
  ));
}

function When({ kind, schedule, write }: { kind: Kind; schedule: string; write(text: string): void }) {
  if (kind === "every") {
    const { count, unit } = everyOf(schedule) ?? { count: "1", unit: "hour" as Unit };
    return (
      <SpaceBetween direction="horizontal" size="xs">
        <Input
          ariaLabel="Number"
          inputMode="numeric"
          value={count}
          onChange={({ detail }) => write(every(detail.value, unit))}
        />
        <Select
          ariaLabel="Unit"
          selectedOption={{ value: unit, label: `${unit}s` }}
          options={UNITS.map((value) => ({ value, label: `${value}s` }))}
          onChange={({ detail }) => write(every(count, detail.selectedOption.value as Unit))}
        />
      </SpaceBetween>
    );
  }
  if (kind === "once") {
    const { day, time } = onceOf(schedule) ?? { day: "", time: "" };
    return (
      <SpaceBetween direction="horizontal" size="xs">
        <FormField label="Day">
          <DatePicker
            value={day}
            placeholder="YYYY-MM-DD"
            format="iso"
            openCalendarAriaLabel={(chosen) =>
              chosen === null ? "Choose a day" : `Choose a day, selected: ${chosen}`
            }
            onChange={({ detail }) => write(once(detail.value, time))}
          />
        </FormField>
        <FormField label="Time">
          <TimeInput
            value={time}
            format="hh:mm:ss"
            placeholder="hh:mm:ss"
            onChange={({ detail }) => write(once(day, detail.value))}
          />
        </FormField>
      </SpaceBetween>
    );
  }
  return (
    <ColumnLayout columns={2}>
      <Input
        ariaLabel="Expression"
        value={schedule}
        placeholder="0 3 * * *"
        spellcheck={false}
        autoComplete={false}
        onChange={({ detail }) => write(detail.value)}
      />
      <Select
        ariaLabel="Common schedules"
        selectedOption={null}
        placeholder="Common schedules"
        options={PRESETS.map(({ id, text }) => ({ value: id, label: text, description: id }))}
        onChange={({ detail }) => write(detail.selectedOption.value ?? "")}
      />
    </ColumnLayout>
  );
}

function zones(): string[] {
  return [...new Set(["UTC", HERE, ...Intl.supportedValuesOf("timeZone")])];
}
