import Header from "@cloudscape-design/components/header";

export default function RunsPage() {
  return <Header variant="h1">Runs</Header>;
}
