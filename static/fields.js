// What the form does beyond sending itself: errors marked for assistive technology, presets, and word of a lost connection.
(() => {
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    const note = fragment.firstElementChild;
    if (!target.id.endsWith("-note")) return;
    // While another input is refused nothing new was understood: what a note says stands, unless it was an error.
    const stands = "stands" in note.dataset && !target.classList.contains("error");
    event.detail.shouldSwap = !stands && target.outerHTML !== note.outerHTML;
    const field = document.getElementById(target.id.replace(/-note$/, ""));
    if (note.classList.contains("error")) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  });

  // Another kind of use brings its own duty cycle: an empty field stands for the preset's figure.
  document.addEventListener(
    "input",
    (event) => {
      const preset = event.target.selectedOptions?.[0].dataset.preset;
      if (!preset) return;
      for (const [name, figure] of Object.entries(JSON.parse(preset))) {
        const field = event.target.form.elements[name];
        field.value = "";
        field.placeholder = figure;
      }
    },
    true,
  );

  // Sent empty, an input is the same as not sent: addresses stay short.
  document.addEventListener("htmx:configRequest", (event) => {
    const { parameters } = event.detail;
    for (const [name, value] of Object.entries(parameters)) if (value === "") delete parameters[name];
  });

  document.addEventListener("formdata", (event) => {
    if (event.target.method === "get") for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });

  for (const failure of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(failure, () => {
      const lost = document.getElementById("lost");
      lost.hidden = false;
    });
  }
  document.addEventListener("htmx:afterOnLoad", () => {
    document.getElementById("lost").hidden = true;
  });
})();
