import Header from "@cloudscape-design/components/header";

export default function CreatePage() {
  return <Header variant="h1">Create a job</Header>;
}
