// Light or dark: as the system says, until the button is pressed.
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.evenkey = {
  theme(clicks) {
    const system = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const other = { light: "dark", dark: "light" };
    const chosen = clicks % 2 ? other[system] : system;
    document.documentElement.dataset.theme = chosen;
    return chosen;
  },
};
