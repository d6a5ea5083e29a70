import { expect, it } from "vitest";

import type { Schemas } from "../api/client";
import { inLine } from "./targets";

type Target = Schemas["Job"]["target"];

const target = { type: "http", method: "POST", url: "https://erp.corp.example/" };

it("writes a target of a private network with its connector", () => {
  expect(inLine("text", target as Target)).toBe("POST https://erp.corp.example/");
  expect(inLine("text", { ...target, via: null } as Target)).toBe("POST https://erp.corp.example/");
  expect(inLine("short", { ...target, via: "office" } as Target)).toBe(
    "POST https://erp.corp.example/ via office",
  );
});

it("writes a target of a newer release as its type", () => {
  expect(inLine("text", { type: "teleport", via: "office" } as unknown as Target)).toBe("teleport");
});
