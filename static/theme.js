// The reader's theme: the system's until they choose, then light or dark, remembered in this browser only.
(() => {
  const root = document.documentElement;
  const names = { system: "System", light: "Light", dark: "Dark" };
  const order = ["system", "light", "dark"];

  function stored() {
    try {
      const name = localStorage.getItem("theme");
      return name in names ? name : "system";
    } catch {
      return "system"; // storage is blocked: the system's theme it is
    }
  }

  function apply(name) {
    root.dataset.theme = name;
    document.querySelector("[data-theme-name]")?.replaceChildren(names[name]);
    document.dispatchEvent(new CustomEvent("themechange"));
  }

  apply(stored());
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-toggle]");
    button.hidden = false;
    apply(stored());
    button.addEventListener("click", () => {
      const next = order[(order.indexOf(root.dataset.theme) + 1) % order.length];
      try {
        localStorage.setItem("theme", next);
      } catch {
        // it then lasts as long as the page
      }
      apply(next);
    });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(root.dataset.theme));
})();
