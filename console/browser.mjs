// Where the Chromium of the lock is, unpacked: the tests' browser on a machine that has none.
import chromium from "@sparticuz/chromium";

console.log(await chromium.executablePath());
