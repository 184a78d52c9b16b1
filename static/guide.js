// The list of symptoms narrows while one types; without script the form asks the server, which finds the same.
(() => {
  const field = document.getElementById("q");
  const found = document.getElementById("found");
  const items = [...document.querySelectorAll("[data-found-by]")].map((item) => ({ item, text: item.dataset.foundBy.toLowerCase() }));
  // A page that shows only what was searched for has nothing more to show: there the form does it.
  if (field.value) return;

  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { item, text } of items) {
      item.hidden = !words.every((word) => text.includes(word));
      shown += !item.hidden;
    }
    for (const group of document.querySelectorAll("[data-group]")) group.hidden = !group.querySelector("li:not([hidden])");
    found.textContent = words.length ? (shown ? `${shown} of ${items.length} symptoms` : "Nothing here is described with these words.") : "";
  });
})();
