import { expect, it } from "vitest";
import { reasonText, verdictText, workflowError } from "./reasons";

it("shows reasons of dead runs as sentences", () => {
  expect(reasonText("attempts_exhausted")).toBe("the last attempt failed");
  expect(reasonText("lost")).toBe("the worker of the last attempt was lost");
});

it("shows a reason of a newer release as it is", () => {
  expect(reasonText("of_a_newer_release")).toBe("of_a_newer_release");
  expect(reasonText(null)).toBe("");
});

it("gives the error of a workflow's run a title", () => {
  expect(workflowError("workflow.deadline")).toBe("The steps did not end by the deadline");
  expect(workflowError("http.503")).toBe("http.503");
  expect(workflowError(null)).toBe("The run failed");
});

it("shows verdicts as sentences", () => {
  expect(verdictText("not_an_occurrence")).toBe("the schedule has no occurrence at this time");
  expect([verdictText("fired", "SUCCEEDED"), verdictText("fired", "DEAD")]).toEqual(["it ran", "it failed"]);
  expect(verdictText("of_a_newer_release")).toBe("of a newer release");
});
