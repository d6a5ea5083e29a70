import DatePicker from "@cloudscape-design/components/date-picker";
import FormField from "@cloudscape-design/components/form-field";
import SpaceBetween from "@cloudscape-design/components/space-between";
import TimeInput from "@cloudscape-design/components/time-input";
import { wall } from "./time";
import { instantOf } from "./wallInput";

/** A day and a time on the clock of a zone: `2026-03-29` and `02:30:00`. */
export interface When {
  day: string;
  time: string;
}

/** An instant by the clock of a zone; undefined: none yet. */
export function whenAt(at: string | undefined, zone: string): When {
  const shown = at === undefined ? "" : wall(at, zone);
  return { day: shown.slice(0, 10), time: shown.slice(11, 19) };
}

/** The instant, as the API writes it; null if the day or the time is not complete. */
export function whenOf({ day, time }: When, zone: string): string | null {
  return time === "" ? null : instantOf(`${day} ${time}`, zone);
}

/** The fields for a day and a time. */
export function WhenInput({
  when,
  zone,
  error,
  onChange,
}: {
  when: When;
  zone: string;
  error?: string;
  onChange(when: When): void;
}) {
  return (
    <SpaceBetween direction="horizontal" size="s" alignItems="start">
      <FormField label="Date" errorText={error}>
        <DatePicker
          value={when.day}
          placeholder="YYYY-MM-DD"
          format="iso"
          inputFormat="iso"
          onChange={({ detail }) => onChange({ ...when, day: detail.value })}
        />
      </FormField>
      <FormField label={`Time (${zone})`}>
        <TimeInput
          value={when.time}
          placeholder="hh:mm:ss"
          onChange={({ detail }) => onChange({ ...when, time: detail.value })}
        />
      </FormField>
    </SpaceBetween>
  );
}
