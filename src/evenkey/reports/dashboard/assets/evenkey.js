window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.evenkey = {
  // Light or dark: as the system says, until the button is pressed.
  theme(clicks) {
    const system = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const other = { light: "dark", dark: "light" };
    const chosen = clicks % 2 ? other[system] : system;
    document.documentElement.dataset.theme = chosen;
    return chosen;
  },

  // Ask for what is new when the last question is answered: Dash drops an answer if it has asked
  // anew meanwhile, so one that takes longer than a tick would never be shown. A server that is
  // away answers nothing; after some ticks it is asked again, each time more patiently.
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
