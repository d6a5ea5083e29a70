import type { Schemas } from "../api/client";

/** The effects of daylight saving time and exclusions on an occurrence, in words; null without an effect. */
export function clockNote({ mark, named, wall, count }: Schemas["Occurrence"], zone: string): string | null {
  const clock = (text: string) => text.slice(11, 16);
  switch (mark) {
    case "moved":
      return `The clocks in ${zone} go forward: ${clock(named ?? wall)} does not exist on that day. The job runs at ${clock(wall)}, the first moment after the gap.`;
    case "dropped":
      return count > 1
        ? `Skipped: the clocks in ${zone} go forward, and ${count} scheduled times, beginning at ${clock(wall)}, do not exist on that day.`
        : `Skipped: the clocks in ${zone} go forward, and ${clock(wall)} does not exist on that day.`;
    case "repeated":
      return `The clocks in ${zone} go back: ${clock(wall)} occurs a second time.`;
    case "excluded":
      return "Excluded by the job: this occurrence does not run.";
    case "shifted":
      return `Moved from ${(named ?? wall).slice(0, 16).replace("T", " ")}, which is excluded.`;
    default:
      return mark; // one that a newer release has, or none
  }
}
