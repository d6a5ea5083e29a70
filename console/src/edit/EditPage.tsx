import Header from "@cloudscape-design/components/header";

export default function EditPage() {
  return <Header variant="h1">Edit a job</Header>;
}
