import Box from "@cloudscape-design/components/box";

/** The header of a column of times, with their time zone. */
export function Zoned({ text, zone }: { text: string; zone: string }) {
  return (
    <>
      {text}
      <Box fontSize="body-s" color="text-body-secondary">
        <div className="line" title={zone}>
          {zone}
        </div>
      </Box>
    </>
  );
}
