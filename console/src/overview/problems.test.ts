import { describe, expect, it } from "vitest";
import { type Found, narrowed, problemsOf, type Read, sentenceOf, whatOf } from "./problems";

const NOW = Date.parse("2026-03-28T12:00:00Z");
const read = <Item>(items: readonly Item[] | undefined = [], more: Partial<Read<Item>> = {}): Read<Item> => ({
  items,
  cut: false,
  at: NOW,
  failed: false,
  ...more,
});
const run = (job_id: string, at: string, more = {}) => ({
  id: `${job_id}.${at}`,
  job_id,
  started_at: at,
  finished_at: at,
  error: `the error of ${at}`,
  code: "http.500",
  waiting_until: null,
  heartbeat_until: null,
  ...more,
});
const found = (more: Partial<Found> = {}): Found => ({
  overdue: read<string>(),
  silent: read<string>(),
  dead: read<never>(),
  stuck: read<never>(),
  breaker: read<never>(),
  retrying: read<never>(),
  ...more,
});
const say = (all: Found) => sentenceOf(all, problemsOf(all, NOW), NOW);

describe("problems", () => {
  it("have one row for each job, with the error of its latest run, the most severe first", () => {
    const all = found({
      dead: read([run("b", "11:00"), run("a", "10:00"), run("b", "09:00")]),
      retrying: read([run("b", "11:30"), run("c", "11:50")]),
      overdue: read(["c"]),
      breaker: read([
        { key: "crm", waiting_for_breaker: 3 },
        { key: "mail", waiting_for_breaker: 0 },
      ]),
    });
    expect(problemsOf(all, NOW).map((each) => [each.id, whatOf(each), each.since, each.error])).toEqual([
      ["c", "overdue, retrying ×1", "11:50", "the error of 11:50"],
      ["b", "dead ×2, retrying ×1", "09:00", "the error of 11:30"],
      ["a", "dead ×1", "10:00", "the error of 10:00"],
      ["crm", "breaker open, 3 runs wait", null, null],
    ]);
  });

  it("are runs whose deadline is over for minutes", () => {
    const until = (waiting_until: string) => run("a", "2026-03-28T11:00:00Z", { waiting_until });
    const all = found({
      stuck: read([
        until("2026-03-28T11:50:00Z"),
        until("2026-03-28T11:59:00Z"),
        until("2026-03-28T13:00:00Z"),
      ]),
    });
    expect(problemsOf(all, NOW).map(whatOf)).toEqual(["stuck ×1"]);
  });
});

describe("the sentence of a filter", () => {
  const narrow = (all: Found, chosen: Read<string>) => {
    const some = narrowed(all, chosen, NOW);
    return sentenceOf(some, problemsOf(some, NOW), NOW);
  };
  const failing = found({ overdue: read(["pay"]), dead: read([run("pay", "10:00"), run("a", "10:00")]) });

  it("counts the jobs that the filter selects", () => {
    expect(narrow(failing, read(["a"])).text).toBe("1 job failing");
    expect(narrow(failing, read(["b"]))).toMatchObject({ type: "success" });
  });

  it("is not a success while it is not known which jobs the filter selects", () => {
    const unread = { ...read<string>(), items: undefined, at: 0 };
    expect(narrow(failing, unread).type).toBe("loading");
    expect(narrow(failing, { ...unread, failed: true })).toMatchObject({
      type: "pending",
      text: "No problem among the data that were read; not known: jobs failing, overdue",
    });
    expect(narrow(found(), unread)).toMatchObject({ type: "success" });
  });

  it("has lower bounds if the filter selects more jobs than were read", () => {
    expect(narrow(failing, read(["a"], { cut: true })).text).toBe(
      "at least 1 job failing, not known: overdue",
    );
    expect(narrow(failing, read(["a", "pay"], { cut: true })).text).toBe("2 jobs failing, 1 overdue");
    const soon = "2026-03-28T13:00:00Z";
    const active = found({ stuck: read([run("b", "11:00", { waiting_until: soon })]) });
    expect(narrow(active, read(["a"], { cut: true }))).toMatchObject({ type: "success" });
  });

  it("names keys, which are of no job", () => {
    const open = found({ breaker: read([{ key: "crm", waiting_for_breaker: 3 }]) });
    expect(narrow(open, read(["a"])).text).toBe("1 breaker open");
  });
});

describe("the sentence", () => {
  it("counts jobs by what is wrong with them", () => {
    const all = found({
      dead: read([run("a", "10:00"), run("b", "10:00"), run("a", "11:00")]),
      breaker: read([{ key: "crm", waiting_for_breaker: 3 }]),
      overdue: read(["a", "c"]),
    });
    expect(say(all)).toEqual({ type: "error", text: "2 jobs failing, 1 breaker open, 2 overdue", at: NOW });
  });

  it("is a success only if all was read, completely and lately", () => {
    expect(say(found())).toEqual({ type: "success", text: "Nothing needs attention", at: NOW });
    expect(say(found({ dead: read([], { cut: true }) }))).toMatchObject({
      type: "pending",
      text: "No problem among the data that were read; not known: jobs failing",
    });
    expect(say(found({ overdue: read<string>([], { at: NOW - 3_600_000 }) })).type).toBe("pending");
    expect(say(found({ retrying: read<never>([], { failed: true }) })).type).toBe("pending");
    expect(say(found({ dead: { ...read<never>([]), items: undefined } })).type).toBe("loading");
    expect(say(found({ dead: { ...read<never>([]), items: undefined, failed: true } }))).toMatchObject({
      type: "pending",
      text: "No problem among the data that were read; not known: jobs failing",
    });
  });

  it("tells that further reads are in progress, in few words", () => {
    const all = found({
      dead: read([run("a", "10:00")]),
      overdue: { ...read<string>([]), items: undefined },
      silent: { ...read<string>([]), items: undefined },
    });
    expect(say(all)).toMatchObject({ type: "error", text: "1 job failing, reading the rest" });
  });

  it("calls counts lower bounds where not all was read, and tells how old the oldest data are", () => {
    const all = found({
      dead: read([run("a", "10:00")], { cut: true }),
      overdue: read(["c"], { at: NOW - 1_000 }),
    });
    expect(say(all)).toEqual({ type: "error", text: "at least 1 job failing, 1 overdue", at: NOW - 1_000 });
    expect(say(found({ retrying: read([run("a", "10:00")]) }))).toMatchObject({
      type: "warning",
      text: "1 retrying",
    });
  });
});
