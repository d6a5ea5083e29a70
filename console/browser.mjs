// Extracts the locked Chromium to $TMPDIR: the browser of the tests (tests/support/browser.py).
import chromium from "@sparticuz/chromium";

await chromium.executablePath();
