// Copy buttons: shown where a script can serve them, and they say what they did.
(() => {
  const show = (root) => {
    for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
      said = "Selected"; // no clipboard outside https and localhost: one key is left to press
    }
    button.textContent = said;
    setTimeout(() => button.replaceChildren("Copy"), 1600);
  });

  show(document);
  document.addEventListener("htmx:afterSettle", () => show(document));
  document.addEventListener("charts", (event) => show(event.detail));
})();
