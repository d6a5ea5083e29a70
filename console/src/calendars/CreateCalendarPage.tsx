import { CalendarForm } from "./CalendarForm";

export default function CreateCalendarPage() {
  return <CalendarForm stored={null} />;
}
