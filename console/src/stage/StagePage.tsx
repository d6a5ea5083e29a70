import Header from "@cloudscape-design/components/header";

export default function StagePage() {
  return <Header variant="h1">Stage</Header>;
}
