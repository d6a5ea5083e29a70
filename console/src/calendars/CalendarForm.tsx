import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Textarea from "@cloudscape-design/components/textarea";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { fetcher, type Schemas } from "../api/client";
import { ApiProblem, asProblem } from "../api/problem";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { resumable } from "../jobs/many";
import { jobsText } from "../jobs/texts";
import { useZone } from "../shared/clock";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { patiently } from "../shared/patiently";
import { useAction } from "../shared/useAction";
import { useConfirm } from "../shared/useConfirm";
import { entriesOf, faultOf } from "./texts";

/** A calendar with its ETag. */
export interface StoredCalendar {
  calendar: Schemas["SingleCalendar"];
  etag: string;
}

/** The entries of a calendar, to be changed; null: of a new one. `reload` replaces them by those that are stored now. */
export function CalendarForm({ stored, reload }: { stored: StoredCalendar | null; reload?: () => void }) {
  const calendar = stored?.calendar ?? null;
  const [etag, setEtag] = useState(stored?.etag ?? null);
  const [id, setId] = useState(calendar?.id ?? "");
  const [description, setDescription] = useState(calendar?.description ?? "");
  const [days, setDays] = useState(calendar?.exclude.join("\n") ?? "");
  const notices = useNotices();
  const navigate = useNavigate();
  const client = useQueryClient();
  const zone = useZone();
  const { ask, modal } = useConfirm();
  const refusal = useRefusal("jobs:write");
  const exclude = entriesOf(days);
  const params = { path: { calendar_id: id } };

  const saving = useAction(
    `Save ${id}`,
    async (_: undefined, signal) => {
      let put: Schemas["PutCalendar"] | undefined;
      const walk = resumable(async (cursor) => {
        // A further page is refused if the calendar has changed since the first one.
        const header = cursor !== undefined ? {} : etag === null ? ABSENT : { "If-Match": etag };
        const { data, response } = await fetcher.PUT("/v1/calendars/{calendar_id}", {
          params: { ...params, header },
          body: { exclude, description, cursor },
        });
        if (data === undefined) throw new SyntaxError("an empty response");
        put = data;
        setEtag(response.headers.get("etag"));
        return data;
      });
      // Each job counts as a request, so the API may require a wait.
      return { ...(await patiently(walk, signal)), put };
    },
    {
      done({ changed, failed, put }) {
        setDays(put?.exclude.join("\n") ?? days);
        const jobs = changed > 0 ? ` ${jobsText(changed)} changed.` : "";
        if (failed.length > 0) {
          const which = failed.join(", ");
          notices.failed(
            `${id} is saved, but not all of its jobs were updated`,
            new ApiProblem(
              409,
              "These jobs keep the previous exclusions",
              `${which}. Save again. If this does not help, check the schedules and calendars of these jobs.`,
            ),
          );
        } else notices.done(`The calendar ${id} is saved.${jobs}`, { next: calendar === null });
        if (calendar === null) void navigate(to.calendar(id).slice(1));
      },
    },
  );
  const remove = () =>
    ask({
      header: "Delete the calendar?",
      text: `${id} will be deleted, unless jobs use it.`,
      action: "Delete the calendar",
      grave: true,
      async run() {
        const header = etag === null ? {} : { "If-Match": etag };
        await fetcher.DELETE("/v1/calendars/{calendar_id}", { params: { ...params, header } });
        notices.done(`The calendar ${id} is deleted.`, { next: true });
        void navigate("/calendars");
        client.removeQueries({ queryKey: ["calendar", id] });
      },
    });
  const fault = saving.error === null ? undefined : faultOf(asProblem(saving.error), exclude);
  const overtaken = saving.error !== null && asProblem(saving.error).status === 412;
  const taken = overtaken && calendar === null;
  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description={
          calendar && (
            <>
              Changed by {calendar.updated_by}, <Time at={calendar.updated_at} zone={zone} />
            </>
          )
        }
        actions={
          calendar && (
            <Button onClick={remove} disabled={refusal !== undefined} disabledReason={refusal}>
              Delete the calendar
            </Button>
          )
        }
      >
        {calendar === null ? "Create calendar" : <span className="text">{calendar.id}</span>}
      </Header>
      {calendar === null && (
        <FormField
          label="Id"
          description="1 to 64 letters (A-Z, a-z), digits, - or _."
          errorText={taken && TAKEN}
        >
          <Input value={id} placeholder="de-bank" onChange={({ detail }) => setId(detail.value)} />
        </FormField>
      )}
      <FormField label="Description" stretch>
        <Input value={description} onChange={({ detail }) => setDescription(detail.value)} />
      </FormField>
      <FormField
        label="Exclusions"
        description="One per line: a date, a range of dates, a window between two instants, or a cron expression."
        constraintText="Examples: 2026-12-24, 2026-12-24/2027-01-01, 2026-12-05T22:00:00Z/2026-12-06T02:00:00Z, * * * * SAT,SUN. To start one run at the end of a window, append /catch_up to the window."
        errorText={fault}
        stretch
      >
        <Textarea
          value={days}
          rows={Math.min(Math.max(exclude.length + 1, 6), 20)}
          spellcheck={false}
          onChange={({ detail }) => setDays(detail.value)}
        />
      </FormField>
      {overtaken && !taken && (
        <Alert
          type="error"
          header="The calendar was changed in the meantime"
          action={<Button onClick={reload}>Reload</Button>}
        >
          Nothing was saved. Reload the calendar, and make your changes again.
        </Alert>
      )}
      {fault === undefined && !overtaken && <ProblemBox error={saving.error} />}
      <SpaceBetween direction="horizontal" size="xs">
        <Button href="#/calendars" variant="link">
          Cancel
        </Button>
        <Button
          variant="primary"
          loading={saving.busy}
          disabled={id === "" || exclude.length === 0 || refusal !== undefined}
          disabledReason={refusal ?? "Enter an id and an exclusion."}
          onClick={() => saving.run(undefined)}
        >
          {calendar === null ? "Create calendar" : "Save"}
        </Button>
      </SpaceBetween>
      {calendar && <Jobs ids={calendar.jobs} more={hasMore(calendar)} />}
      {modal}
    </SpaceBetween>
  );
}

const ABSENT = { "If-None-Match": "*" } as const;
const TAKEN = "A calendar with this id already exists; choose another id, or edit that calendar.";

/** The API names the first hundred jobs. During a deployment, an API of the previous release does not say whether there
 * are more.
 */
function hasMore(calendar: { jobs: readonly string[]; more_jobs?: boolean }): boolean {
  return calendar.more_jobs ?? calendar.jobs.length === 100;
}

function Jobs({ ids, more }: { ids: readonly string[]; more: boolean }) {
  return (
    <SpaceBetween size="xs">
      <Header variant="h2">Jobs with this calendar</Header>
      {ids.length === 0 ? (
        <Box color="text-body-secondary">
          {more ? "Jobs use this calendar, but could not be listed." : "No job uses this calendar."}
        </Box>
      ) : (
        <div className="text">
          {ids.map((each, place) => (
            <span key={each}>
              {place > 0 && ", "}
              <Link href={to.job(each)}>{each}</Link>
            </span>
          ))}
          {more && " and others"}
        </div>
      )}
    </SpaceBetween>
  );
}
