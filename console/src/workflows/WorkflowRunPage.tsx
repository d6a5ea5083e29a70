import Header from "@cloudscape-design/components/header";

export default function WorkflowRunPage() {
  return <Header variant="h1">Run of a workflow</Header>;
}
