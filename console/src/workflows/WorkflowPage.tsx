import Header from "@cloudscape-design/components/header";

export default function WorkflowPage() {
  return <Header variant="h1">Workflow</Header>;
}
