import { HERE, wall } from "../shared/time";

/** `14:30`, and at midnight the date. */
function clockTime(at: Date): string {
  const shown = wall(at, HERE);
  return shown.slice(11, 16) === "00:00" ? shown.slice(5, 10) : shown.slice(11, 16);
}

/** Of charts of whole numbers over time. */
export const CHART_TEXTS = {
  xTickFormatter: clockTime,
  yTickFormatter: (count: number) => (Number.isInteger(count) ? String(count) : ""),
  detailPopoverDismissAriaLabel: "Close",
};
