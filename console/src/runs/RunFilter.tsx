import DateRangePicker, { type DateRangePickerProps } from "@cloudscape-design/components/date-range-picker";
import PropertyFilter from "@cloudscape-design/components/property-filter";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { HERE } from "../shared/time";
import { type Changes, changesOf, changesOfRange, type Filters, pickedOf, queryOf, RANGES } from "./filters";

/** Chooses runs by state (of `states`, if there are any), job, tag, error, worker and time. */
export function RunFilter({
  filters,
  change,
  states = [],
  timeLabel,
}: {
  filters: Filters;
  change(changes: Changes): void;
  states?: readonly string[];
  timeLabel: string;
}) {
  return (
    <SpaceBetween size="xs">
      <PropertyFilter
        query={queryOf(filters)}
        onChange={({ detail }) => change(changesOf(detail))}
        filteringProperties={[
          ...(states.length === 0
            ? []
            : [
                {
                  key: "state",
                  propertyLabel: "State",
                  groupValuesLabel: "States",
                  operators: [{ operator: "=" as const, tokenType: "enum" as const }],
                },
              ]),
          { key: "job", propertyLabel: "Job", groupValuesLabel: "Jobs", operators: ["="] },
          { key: "tag", propertyLabel: "Tag", groupValuesLabel: "Tags", operators: ["="] },
          {
            key: "error",
            propertyLabel: "Error",
            groupValuesLabel: "Errors",
            operators: [":"],
            defaultOperator: ":",
          },
          // Dead letters cannot be selected by their worker.
          ...(states.length === 0
            ? []
            : [
                {
                  key: "worker",
                  propertyLabel: "Worker",
                  groupValuesLabel: "Workers",
                  operators: ["=" as const],
                },
              ]),
        ]}
        filteringOptions={states.map((value) => ({ propertyKey: "state", value }))}
        freeTextFiltering={{ operators: [":"], defaultOperator: ":" }}
        hideOperations
        filteringAriaLabel="Find runs"
        filteringPlaceholder={states.length === 0 ? "Job, tag or error" : "State, job, tag, error or worker"}
      />
      <DateRangePicker
        value={pickedOf(filters, Date.now())}
        onChange={({ detail }) => change(changesOfRange(detail.value))}
        relativeOptions={RANGES}
        customRelativeRangeUnits={["minute", "hour", "day"]}
        isValidRange={checkRange}
        absoluteFormat="long-localized"
        getTimeOffset={(date) => -date.getTimezoneOffset()}
        placeholder={`${timeLabel}: any time`}
        ariaLabel={`${timeLabel} (${HERE})`}
        expandToViewport
        i18nStrings={{ formatRelativeRange }}
      />
    </SpaceBetween>
  );
}

function formatRelativeRange({ amount, unit }: DateRangePickerProps.RelativeValue): string {
  return amount === 1 ? `Last ${unit}` : `Last ${amount} ${unit}s`;
}

function checkRange(value: DateRangePickerProps.Value | null): DateRangePickerProps.ValidationResult {
  if (value?.type !== "absolute") return { valid: true };
  if (!value.startDate || !value.endDate)
    return { valid: false, errorMessage: "Choose a start day and an end day." };
  return new Date(value.startDate) < new Date(value.endDate)
    ? { valid: true }
    : { valid: false, errorMessage: "The end must be after the start." };
}
