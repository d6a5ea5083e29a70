import type { Member } from "./graph";
import { layout } from "./layout";

self.onmessage = ({ data }: MessageEvent<Member[]>) => self.postMessage(layout(data));
