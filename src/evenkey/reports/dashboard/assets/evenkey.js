window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.evenkey = {
  // The system's theme, light or dark; each press of the button switches it.
  theme(clicks) {
    const system = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const other = { light: "dark", dark: "light" };
    const chosen = clicks % 2 ? other[system] : system;
    document.documentElement.dataset.theme = chosen;
    return chosen;
  },

  // Send the next request only when the last request has been answered. Dash drops an answer if
  // the page has sent another request meanwhile, so an answer that takes longer than a tick would
  // never be shown. If the server is down, no answer comes: send the request again after some
  // ticks, and wait longer each time.
  ask(tick, answered, asked) {
    const least = 5;
    const most = 60;
    if (!asked) {
      return { number: 1, tick, patience: least };
    }
    const waited = tick - asked.tick;
    const number = asked.number + 1;
    if (answered === asked.number) {
      return { number, tick, patience: Math.min(most, Math.max(least, 2 * waited)) };
    }
    if (waited >= asked.patience) {
      return { number, tick, patience: Math.min(most, 2 * asked.patience) };
    }
    return window.dash_clientside.no_update;
  },
};
