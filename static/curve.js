// The charts that plotly draws: its library is loaded when one is there, and their colours are the theme's.
// With data-lazy one is drawn when it comes into view.
(() => {
  const source = document.currentScript.dataset.plotly;
  let library = globalThis.Plotly && Promise.resolve(); // a page that was saved as one file has it in itself

  function load() {
    library ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = source;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
    return library;
  }

  // var(--name) in a figure is the theme's colour, asked of the element so that light-dark() is resolved.
  function coloured(value, element) {
    if (typeof value === "string" && value.startsWith("var(--")) {
      element.style.color = value;
      const colour = getComputedStyle(element).color;
      element.style.color = "";
      return colour;
    }
    if (value === "inherit") return getComputedStyle(element).fontFamily;
    if (Array.isArray(value)) return value.map((each) => coloured(each, element));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, coloured(each, element)]));
    }
    return value;
  }

  async function draw(element) {
    const figure = JSON.parse(document.getElementById(element.dataset.chart).textContent);
    try {
      await load();
    } catch {
      return; // the table beside it has every point
    }
    if (!element.isConnected) return; // another took its place while the library was on its way
    const { data, layout } = coloured(figure, element);
    globalThis.Plotly.react(element, data, layout, { responsive: true, displayModeBar: false });
  }

  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        draw(target);
      }
    },
    { rootMargin: "400px" },
  );

  function drawAll(root = document) {
    for (const element of root.querySelectorAll?.("[data-chart]") ?? []) {
      if ("lazy" in element.dataset && !element.data) seen.observe(element);
      else draw(element);
    }
    for (const buttons of root.querySelectorAll?.("[data-zoom][hidden]") ?? []) buttons.hidden = false;
  }

  drawAll();
  document.addEventListener("htmx:afterSettle", (event) => drawAll(event.target));
  document.addEventListener("charts", (event) => drawAll(event.detail));
  document.addEventListener("themechange", () => drawAll());
})();
