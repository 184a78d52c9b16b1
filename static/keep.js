// Nothing moves under the reader: open details stay open, the focus stays, and changed figures are marked for a moment.
(() => {
  const MARKED_MS = 1600;
  let figures = new Map();
  let open = new Set();
  let focused = null;

  const read = () => new Map([...document.querySelectorAll("[data-figure]")].map((el) => [el.dataset.figure, el.textContent]));

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!["answer", "planner"].includes(event.detail.target.id)) return;
    figures = read();
    open = new Set([...document.querySelectorAll("details[data-keep]")].filter((el) => el.open).map((el) => el.id));
    focused = event.detail.target.contains(document.activeElement) ? document.activeElement : null;
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (!["answer", "planner"].includes(event.detail.target.id) && event.target.id !== "planner" && event.target.id !== "answer") return;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const el of document.querySelectorAll("[data-figure]")) {
      const before = figures.get(el.dataset.figure);
      if (before === undefined || before === el.textContent) continue;
      el.classList.add("changed");
      setTimeout(() => el.classList.remove("changed"), MARKED_MS);
    }
    // A followed link is gone from the new answer: the verdict takes the focus, without scrolling to it.
    if (focused && !focused.isConnected && document.activeElement === document.body) {
      (document.getElementById(focused.id) ?? document.getElementById("verdict"))?.focus({ preventScroll: true });
    }
    focused = null;
  });
})();
