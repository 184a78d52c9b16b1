// A time axis by keyboard: closer, wider, earlier, later, all of it.
(() => {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom] button");
    if (!button) return;
    const chart = document.getElementById(button.parentElement.dataset.zoom);
    const shown = chart._fullLayout?.xaxis.range;
    if (!shown) return;
    if ("all" in button.dataset) {
      globalThis.Plotly.relayout(chart, { "xaxis.autorange": true });
      return;
    }
    const width = shown[1] - shown[0];
    const by = Number(button.dataset.by ?? 1);
    const middle = (shown[0] + shown[1]) / 2 + Number(button.dataset.move ?? 0) * width;
    globalThis.Plotly.relayout(chart, { "xaxis.range": [middle - (width * by) / 2, middle + (width * by) / 2] });
  });
})();
