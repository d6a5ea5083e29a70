import Header from "@cloudscape-design/components/header";

export default function WorkflowsPage() {
  return <Header variant="h1">Workflows</Header>;
}
