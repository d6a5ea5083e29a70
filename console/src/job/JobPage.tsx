import Header from "@cloudscape-design/components/header";

export default function JobPage() {
  return <Header variant="h1">Job</Header>;
}
