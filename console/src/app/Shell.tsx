import AppLayoutToolbar from "@cloudscape-design/components/app-layout-toolbar";
import BreadcrumbGroup from "@cloudscape-design/components/breadcrumb-group";
import Flashbar from "@cloudscape-design/components/flashbar";
import SideNavigation from "@cloudscape-design/components/side-navigation";
import Spinner from "@cloudscape-design/components/spinner";
import TopNavigation from "@cloudscape-design/components/top-navigation";
import { Suspense, useEffect, useState } from "react";
import { Route, Routes, useLocation } from "react-router";
import { NotFound } from "../shared/NotFound";
import { PageFailed } from "../shared/PageFailed";
import { useTenants } from "../tenants/useTenants";
import { ConnectionBar } from "./ConnectionBar";
import { useClockMenu } from "./clockMenu";
import { useStage } from "./context";
import { ExpiredLogin } from "./ExpiredLogin";
import { NoticesProvider, useNotices } from "./notices";
import { MENU, PAGES, TENANTS } from "./routes";
import { chooseTheme, isDark } from "./theme";
import { trailOf } from "./trail";

const CONTENT = "content";

/** The frame around every page. */
export function Shell() {
  return (
    <NoticesProvider>
      <SkipLink />
      <TopBar />
      <ExpiredLogin />
      <Frame />
    </NoticesProvider>
  );
}

/** Shown when it has the focus. An address with a fragment would be another page. */
function SkipLink() {
  return (
    <button
      type="button"
      className="skip"
      onClick={() => document.querySelector<HTMLElement>(`#${CONTENT}`)?.focus()}
    >
      Skip to content
    </button>
  );
}

function TopBar() {
  const { settings, session } = useStage();
  const [dark, setDark] = useState(isDark);
  const turn = () => {
    chooseTheme(!dark);
    setDark(!dark);
  };
  const clock = useClockMenu();
  const who = session.name;
  return (
    <div id="top-bar">
      <TopNavigation
        identity={{ href: "#/", title: `Duecourse · ${settings.stage}` }}
        utilities={[
          { type: "button", text: "Why did it not run?", href: "#/why" },
          clock,
          {
            type: "button",
            text: dark ? "Light" : "Dark",
            title: `Use the ${dark ? "light" : "dark"} theme`,
            ariaLabel: `Use the ${dark ? "light" : "dark"} theme`,
            onClick: turn,
          },
          ...(settings.docs_url === null
            ? []
            : [{ type: "button" as const, text: "Documentation", href: settings.docs_url, external: true }]),
          ...(who === null
            ? []
            : [
                {
                  type: "menu-dropdown" as const,
                  text: who,
                  description: session.tenant === null ? undefined : `tenant ${session.tenant}`,
                  iconName: "user-profile" as const,
                  items: [{ id: "logout", text: "Log out" }],
                  onItemClick: () => void session.logout(),
                },
              ]),
        ]}
      />
    </div>
  );
}

function Frame() {
  const { settings, session } = useStage();
  const { pathname } = useLocation();
  const notices = useNotices();
  const [open, setOpen] = useState(() => matchMedia("(min-width: 688px)").matches);
  const trail = trailOf(pathname);
  const menu = useTenants({ live: false }).data === undefined ? MENU : [...MENU, TENANTS];
  const active =
    menu.findLast(({ href }) => href !== "#/" && `#${pathname}`.startsWith(href))?.href ?? `#${pathname}`;
  useEffect(() => {
    const place = menu.find((each) => each.href === active)?.text ?? "";
    document.title = [trail[1]?.text, place, `Duecourse ${settings.stage}`].filter(Boolean).join(" · ");
  });
  return (
    <AppLayoutToolbar
      headerSelector="#top-bar"
      navigation={
        <SideNavigation
          activeHref={active}
          items={menu.map((each) => ({ type: "link", ...each }))}
          header={{ href: "#/", text: session.tenant === null ? "Duecourse" : `Tenant ${session.tenant}` }}
        />
      }
      navigationOpen={open}
      onNavigationChange={({ detail }) => setOpen(detail.open)}
      toolsHide
      breadcrumbs={trail.length > 0 && <BreadcrumbGroup ariaLabel="Breadcrumbs" items={trail} />}
      notifications={
        <>
          <ConnectionBar />
          <Flashbar items={notices.items} stackItems={notices.items.length > 3} />
        </>
      }
      content={
        <div id={CONTENT} tabIndex={-1}>
          <PageFailed key={pathname}>
            <Suspense fallback={<Spinner size="large" />}>
              <Routes>
                {PAGES.map(({ path, page: Page }) => (
                  <Route key={path} path={path} element={<Page />} />
                ))}
                <Route path="*" element={<NotFound what="Page" />} />
              </Routes>
            </Suspense>
          </PageFailed>
        </div>
      }
    />
  );
}
