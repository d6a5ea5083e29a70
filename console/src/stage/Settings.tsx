import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import type { Schemas } from "../api/client";
import { useStage } from "../app/context";

const AUTH: Record<string, string> = {
  none: "no authentication (the local stack)",
  iam: "signed requests (SigV4)",
  jwt: "tokens (OIDC)",
};

/** The release and the settings of the stage. */
export function Settings({ stage }: { stage: Schemas["Stage"] | undefined }) {
  const { settings } = useStage();
  const pairs: [string, string][] = [
    ["Stage", settings.stage],
    ["Region", settings.region],
    ["Release of this page", settings.version],
    ...(stage === undefined
      ? []
      : ([
          [
            "Release of the API",
            stage.version === settings.version
              ? stage.version
              : `${stage.version}: a deployment is in progress, or this page is outdated; reload it`,
          ],
          ["Authentication", AUTH[stage.auth] ?? stage.auth],
          ["Shards", String(stage.shards)],
          ["Default precision of jobs", stage.default_precision],
        ] satisfies [string, string][])),
  ];
  return (
    <Container header={<Header variant="h2">Release and settings</Header>}>
      <KeyValuePairs
        columns={3}
        items={pairs.map(([label, value]) => ({ type: "pair" as const, label, value }))}
      />
    </Container>
  );
}

/** The user and the user's scopes. */
export function Login() {
  const { session } = useStage();
  return (
    <Container header={<Header variant="h2">Your login</Header>}>
      <KeyValuePairs
        columns={3}
        items={[
          { type: "pair", label: "Name", value: session.name ?? "none: the stage has no authentication" },
          { type: "pair", label: "Tenant", value: session.tenant ?? "default" },
          { type: "pair", label: "Scopes", value: session.scopes.join(", ") || "none" },
        ]}
      />
    </Container>
  );
}
