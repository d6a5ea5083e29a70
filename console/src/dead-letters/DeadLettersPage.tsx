import Header from "@cloudscape-design/components/header";

export default function DeadLettersPage() {
  return <Header variant="h1">Dead letters</Header>;
}
