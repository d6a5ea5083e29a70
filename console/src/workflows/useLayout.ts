import { useEffect, useState } from "react";
import type { Step } from "./graph";
import type { Places } from "./layout";

/** The positions of the jobs, computed in a worker: null until then, `failed` if the browser does
 * not support it.
 */
export function useLayout(steps: readonly Step[]): Places | "failed" | null {
  const shape = JSON.stringify(steps.map(({ id, after }) => ({ id, after })));
  const [laid, setLaid] = useState<{ shape: string; places: Places | "failed" } | null>(null);
  useEffect(() => {
    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Places>) => setLaid({ shape, places: data });
    worker.onerror = () => setLaid({ shape, places: "failed" });
    worker.postMessage(JSON.parse(shape));
    return () => worker.terminate();
  }, [shape]); // states change while the places stay
  return laid?.shape === shape ? laid.places : null;
}
