// Inputs with a list of suggestions: type to filter, arrows to move, Enter to take, Escape to leave. Anything else may be typed.
(() => {
  const SHOWN = 60;

  function enhance(input) {
    const source = input.list.id;
    // Read when asked: the formats of another model are others.
    const options = () => [...document.getElementById(source).options].map(({ value, label }) => ({ value, label }));
    const list = document.createElement("ul");
    list.id = `${input.id}-list`;
    list.className = "suggestions";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", input.labels[0].textContent);
    list.hidden = true;
    input.removeAttribute("list");
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-expanded", "false");
    input.setAttribute("aria-controls", list.id);
    input.parentElement.append(list);
    let active = -1;

    function close() {
      list.hidden = true;
      active = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    }

    // Every word that was typed stands somewhere in the option's value or facts.
    function matching(text) {
      const words = text.toLowerCase().split(/[\s/_-]+/).filter(Boolean);
      return options().filter(({ value, label }) => words.every((word) => `${value} ${label}`.toLowerCase().includes(word)));
    }

    function show(found) {
      list.replaceChildren(
        ...found.slice(0, SHOWN).map(({ value, label }, index) => {
          const item = document.createElement("li");
          item.id = `${list.id}-${index}`;
          item.setAttribute("role", "option");
          item.setAttribute("aria-selected", "false");
          item.dataset.value = value;
          const facts = document.createElement("small");
          facts.textContent = label;
          item.append(value, facts);
          return item;
        }),
      );
      active = -1;
      list.hidden = found.length === 0;
      input.setAttribute("aria-expanded", String(!list.hidden));
      input.removeAttribute("aria-activedescendant");
    }

    function move(step) {
      const items = [...list.children];
      if (!items.length) return;
      items[active]?.setAttribute("aria-selected", "false");
      active = (active + step + items.length + (active < 0 && step < 0 ? 1 : 0)) % items.length;
      items[active].setAttribute("aria-selected", "true");
      items[active].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", items[active].id);
    }

    function take(value) {
      input.value = value;
      close();
      input.dispatchEvent(new Event("input", { bubbles: true }));
      close();
    }

    // Half a name is not asked about: the form hears of the input when it is taken, pasted or left.
    input.addEventListener("input", (event) => {
      if (!event.isTrusted) return;
      show(matching(input.value));
      if (event.inputType !== "insertFromPaste") event.stopPropagation();
    });
    input.addEventListener("change", () => input.dispatchEvent(new Event("input", { bubbles: true })));
    input.addEventListener("click", () => list.hidden && show(options()));
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) show(options());
        move(event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Enter" && active >= 0) {
        event.preventDefault();
        take(list.children[active].dataset.value);
      } else if (event.key === "Enter") {
        close();
      } else if (event.key === "Escape" && !list.hidden) {
        event.preventDefault();
        close();
      }
    });
    // mousedown would take the focus from the input before the click arrives
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const item = event.target.closest("[role=option]");
      if (item) take(item.dataset.value);
    });
  }

  const all = () => document.querySelectorAll("input[list]").forEach(enhance);
  all();
  document.addEventListener("htmx:afterSettle", all);
})();
