import Header from "@cloudscape-design/components/header";

export default function RunPage() {
  return <Header variant="h1">Run</Header>;
}
