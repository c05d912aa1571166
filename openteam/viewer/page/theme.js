// Dark or light: as the system says, until somebody chooses.

import { button } from "openteam/dom.js";

export function startTheme(changed) {
  const root = document.documentElement;
  const dark = () => root.dataset.theme === "dark";
  const show = (theme) => {
    root.dataset.theme = theme;
    choose.textContent = dark() ? "☀ Light" : "☾ Dark";
    changed();
  };
  const choose = button("", () => show(dark() ? "light" : "dark"), { id: "theme" });
  show(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  return choose;
}
