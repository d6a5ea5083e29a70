import type { TopNavigationProps } from "@cloudscape-design/components/top-navigation";
import { type Clock, chooseClock, useClock } from "../shared/clock";
import { HERE } from "../shared/time";

const NAMES: Record<Clock, string> = { job: "job's zone", mine: "my zone", utc: "UTC" };
const TEXTS: Record<Clock, string> = {
  job: "The job's time zone",
  mine: `My time zone (${HERE})`,
  utc: "UTC",
};

/** The switch for the time zone of all pages. */
export function useClockMenu(): TopNavigationProps.Utility {
  const chosen = useClock();
  return {
    type: "menu-dropdown",
    text: `Times: ${NAMES[chosen]}`,
    items: (["job", "mine", "utc"] as const).map((id) => ({
      id,
      itemType: "checkbox",
      text: TEXTS[id],
      checked: id === chosen,
    })),
    onItemClick: ({ detail }) => chooseClock(detail.id as Clock),
  };
}
