import { applyMode, Mode } from "@cloudscape-design/global-styles";

const KEPT = "duecourse-theme";

/** Dark or light: the last choice in this browser, or else the system's setting. */
export function isDark(): boolean {
  const kept = localStorage.getItem(KEPT);
  return kept === null ? matchMedia("(prefers-color-scheme: dark)").matches : kept === "dark";
}

export function applyTheme(): void {
  applyMode(isDark() ? Mode.Dark : Mode.Light);
}

export function chooseTheme(dark: boolean): void {
  localStorage.setItem(KEPT, dark ? "dark" : "light");
  applyTheme();
}
