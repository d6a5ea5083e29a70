import { describe, expect, test } from "vitest";
import { logsLink, tracesLink, webAddress, windowOf } from "./links";

const WINDOW = { from: new Date("2026-03-28T11:45:00Z"), until: new Date("2026-03-28T12:05:00Z") };
const stage = (region: string) => ({
  region,
  logs: { api: "/aws/lambda/api", execute: ["/aws/lambda/normal"] },
  traces: true,
});

describe("links to AWS's console", () => {
  test("lead to the log lines of a correlation id, in all log groups", () => {
    expect(logsLink(stage("eu-central-1"), "correlation_id", 'a"b', WINDOW)).toBe(
      "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1" +
        "#logsV2:logs-insights$3FqueryDetail$3D~(end~'2026-03-28T12*3a05*3a00.000Z" +
        "~start~'2026-03-28T11*3a45*3a00.000Z~timeType~'ABSOLUTE~tz~'UTC~editorString~'" +
        "fields*20*40timestamp*2c*20function_name*2c*20level*2c*20action*2c*20state*2c*20reason*2c*20error*2c*20" +
        "xray_trace_id*0a*7c*20filter*20correlation_id*20*3d*20*22a*5c*22b*22*0a*7c*20sort*20*40timestamp" +
        "~source~(~'*2faws*2flambda*2fapi~'*2faws*2flambda*2fnormal))",
    );
  });

  test.each([
    ["us-east-1", "https://us-east-1.console.aws.amazon.com/"],
    ["cn-north-1", "https://cn-north-1.console.amazonaws.cn/"],
    ["us-gov-west-1", "https://us-gov-west-1.console.amazonaws-us-gov.com/"],
  ])("are of the region's partition: %s", (region, start) => {
    expect(logsLink(stage(region), "run_id", "nightly", WINDOW)?.startsWith(start)).toBe(true);
    expect(tracesLink(stage(region), WINDOW)?.startsWith(start)).toBe(true);
  });

  test("are left out where a stage has no logs or traces to show", () => {
    expect(logsLink({ region: "eu-west-1", logs: {} }, "run_id", "nightly", WINDOW)).toBeNull();
    expect(tracesLink({ region: "eu-west-1", traces: false }, WINDOW)).toBeNull();
  });

  test("cover a run from before it was due until after its end", () => {
    const [now, due, finished_at] = [WINDOW.until.getTime(), "2026-03-28T12:00:00Z", "2026-03-28T12:01:00Z"];
    const until = (instant: string) => ({ from: WINDOW.from, until: new Date(instant) });
    expect(windowOf({ state: "DEAD", due, finished_at }, now)).toEqual(until("2026-03-28T12:06:00Z"));
    expect(windowOf({ state: "RETRYING", due, finished_at }, now)).toEqual(until("2026-03-28T12:10:00Z"));
  });
});

test("only addresses of the web are followed", () => {
  expect(webAddress("https://bucket.example/result?x=1")).toBe("https://bucket.example/result?x=1");
  expect(webAddress("javascript:alert(1)")).toBeNull();
  expect(webAddress(undefined)).toBeNull();
});
