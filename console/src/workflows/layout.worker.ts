import type { Step } from "./graph";
import { layout } from "./layout";

self.onmessage = ({ data }: MessageEvent<Step[]>) => self.postMessage(layout(data));
