import "@cloudscape-design/global-styles/index.css";
import "./app/app.css";
import { I18nProvider } from "@cloudscape-design/components/i18n";
import messages from "@cloudscape-design/components/i18n/messages/all.en";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { HashRouter } from "react-router";
import { queries, speakAs } from "./api/client";
import { Stage } from "./app/context";
import { LoggedOut } from "./app/LoggedOut";
import { preload } from "./app/routes";
import { Shell } from "./app/Shell";
import { StartFailed } from "./app/StartFailed";
import { begin } from "./app/session";
import { LOGGED_OUT, loadSettings } from "./app/settings";
import { applyTheme } from "./app/theme";

async function start(): Promise<void> {
  const root = createRoot(document.getElementById("root") as HTMLElement);
  try {
    applyTheme(); // fails where the browser keeps nothing
    if (location.href.startsWith(LOGGED_OUT)) {
      root.render(<LoggedOut />);
      return;
    }
    const page = preload(location.hash);
    const settings = await loadSettings();
    const session = await begin(settings);
    if (session === null) return; // on the way to the issuer
    speakAs(session);
    await page;
    root.render(
      <StrictMode>
        <I18nProvider locale="en" messages={[messages]}>
          <QueryClientProvider client={queries}>
            <Stage.Provider value={{ settings, session }}>
              <HashRouter>
                <Shell />
              </HashRouter>
            </Stage.Provider>
          </QueryClientProvider>
        </I18nProvider>
      </StrictMode>,
    );
  } catch (error) {
    root.render(<StartFailed error={error} />);
  }
}

void start();
