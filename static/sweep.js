// Parts that are worked out run by run: they begin when they are seen, shown or asked for, say how far they are, and can be cancelled.
(() => {
  const TYPE = "application/x-ndjson";
  // What begins by itself does so one after the other: a reader is one client, and each part is computing.
  let line = Promise.resolve();

  function enhance(part) {
    const [work, bar, status, cancel, link, failed, soFar] = [
      ".at-work", "progress", "[data-progress]", "[data-cancel]", "[data-link]", "[data-error]", "[data-so-far]",
    ].map((selector) => part.querySelector(selector));
    let stop;

    function show({ done, total, html, error }) {
      if (total) bar.max = total;
      if (total) bar.value = done;
      status.textContent = total ? `${done} of ${total}` : `${done} tried`;
      if (html) {
        const at = soFar.querySelector(".scroll")?.scrollLeft ?? 0;
        soFar.innerHTML = html; // our own page's, escaped by its templates
        if (at) soFar.querySelector(".scroll").scrollLeft = at;
        document.dispatchEvent(new CustomEvent("charts", { detail: soFar }));
      }
      if (error) complain(error);
    }

    function complain(sentence) {
      failed.textContent = sentence;
      failed.hidden = false;
    }

    // The last line says that it is one: without it the connection broke.
    async function read(response) {
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        const lines = (rest + chunk.value).split("\n");
        rest = lines.pop();
        for (const step of lines.map(JSON.parse)) {
          if (step.ended) return;
          show(step);
        }
      }
      throw new Error("cut off");
    }

    function begin({ asked }) {
      if (stop) return;
      stop = new AbortController();
      bar.removeAttribute("value");
      status.textContent = "waits";
      failed.hidden = true;
      link.hidden = true;
      work.hidden = false;
      const begun = (asked ? Promise.resolve() : line).then(() => run(stop.signal));
      if (!asked) line = begun;
    }

    async function run(signal) {
      try {
        const response = await fetch(part.dataset.later, { headers: { Accept: TYPE }, signal });
        if (!response.ok) throw new Error(response.statusText);
        await read(response);
      } catch (problem) {
        if (problem.name !== "AbortError") complain("The server did not finish this. What is shown is as far as it got.");
        link.hidden = false;
      }
      work.hidden = true;
      stop = undefined;
    }

    cancel.addEventListener("click", () => {
      const far = status.textContent;
      stop?.abort();
      complain(far === "waits" ? "Cancelled before it began." : `Cancelled at ${far}: what is shown is as far as it got.`);
      link.hidden = false;
      link.querySelector("a").focus();
    });
    link.querySelector("a").addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      begin({ asked: true });
    });
    if (part.dataset.starts === "shown") begin({ asked: false });
    if (part.dataset.starts === "seen") {
      const seen = new IntersectionObserver((entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        seen.disconnect();
        begin({ asked: false });
      });
      seen.observe(part);
    }
  }

  document.querySelectorAll("[data-later]").forEach(enhance);

  // A run that takes longer than a moment says so; coming back to the page it is over.
  const busy = document.getElementById("busy");
  for (const form of document.querySelectorAll("form[data-busy]")) form.addEventListener("submit", () => busy.classList.add("htmx-request"));
  addEventListener("pageshow", () => busy.classList.remove("htmx-request"));
})();
