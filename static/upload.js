// Files on their way: how much of them is sent, a way to cancel, and the answer in place of the form. Without it the form sends itself.
(() => {
  const MEBIBYTE = 2 ** 20;
  // A pasted text larger than this goes as a file: a form's own fields have to be small.
  const LONG_TEXT = MEBIBYTE;
  const size = (bytes) => `${(bytes / MEBIBYTE).toFixed(bytes < 10 * MEBIBYTE ? 1 : 0)} MiB`;

  function enhance(form) {
    const [work, doing, bar, status, cancel, failed] = [
      "[data-at-work]", "[data-doing]", "progress", "[data-progress]", "[data-cancel]", "[data-error]",
    ].map((selector) => form.querySelector(selector));
    const most = Number(form.dataset.most);
    let sending;

    function complain(sentence) {
      failed.textContent = sentence;
      failed.hidden = false;
    }

    function busy(is) {
      work.hidden = !is;
      for (const button of form.querySelectorAll("[type=submit]")) button.disabled = is;
      if (!is) sending = undefined;
    }

    function filled(button) {
      const data = new FormData(form, button);
      for (const [name, value] of [...data]) if (value instanceof File && !value.name) data.delete(name); // none was chosen
      const text = data.get("text");
      if (text.length > LONG_TEXT) {
        data.delete("text");
        data.append("logs", new Blob([text], { type: "text/plain" }), "pasted.log");
      }
      return data;
    }

    function progress({ loaded, total, lengthComputable }) {
      if (!lengthComputable) return;
      bar.max = total;
      bar.value = loaded;
      status.textContent = `${size(loaded)} of ${size(total)}`;
    }

    function reading() {
      doing.textContent = "Reading the log";
      bar.removeAttribute("value");
      status.textContent = "a few seconds for each 50 MiB";
    }

    // A refusal leaves the files where they are: only what it says is put in.
    function refused(answer) {
      for (const place of document.querySelectorAll("#problems, .upload .note[id]")) {
        const said = answer.getElementById(place.id);
        if (!said) continue;
        place.replaceWith(said);
        const field = document.getElementById(said.id.replace(/-note$/, ""));
        if (field && said.classList.contains("error")) field.setAttribute("aria-invalid", "true");
        else field?.removeAttribute("aria-invalid");
      }
      const list = document.querySelector("#problems .callout");
      list?.querySelector("[data-lost]").remove();
      (list ?? form).scrollIntoView({ block: "nearest" });
      if (!list) complain(answer.querySelector("main p")?.textContent ?? "The server did not answer this.");
    }

    function shown(answer) {
      document.title = answer.title;
      const main = document.querySelector("main");
      main.replaceChildren(...answer.querySelector("main").childNodes);
      main.querySelectorAll("[data-upload]").forEach(enhance);
      document.dispatchEvent(new CustomEvent("charts", { detail: main }));
      scrollTo(0, 0);
      document.getElementById("verdict").focus({ preventScroll: true });
    }

    function saved(blob) {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = "diagnosis.html";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    }

    async function arrived(request) {
      busy(false);
      if (request.getResponseHeader("Content-Disposition")) return saved(request.response);
      const answer = new DOMParser().parseFromString(await request.response.text(), "text/html");
      return answer.getElementById("verdict") ? shown(answer) : refused(answer);
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (sending) return;
      failed.hidden = true;
      const data = filled(event.submitter);
      const total = [...data.values()].reduce((sum, value) => sum + (value instanceof File ? value.size : value.length), 0);
      if (total > most) {
        complain(`These are ${size(total)}, and ${size(most)} are the most here. Pack the log with gzip, cut it to the hours that matter, or run: manage.py diagnose FILE`);
        return;
      }
      sending = new XMLHttpRequest();
      sending.open("POST", form.action);
      sending.responseType = "blob";
      sending.upload.addEventListener("progress", progress);
      sending.upload.addEventListener("load", reading);
      sending.addEventListener("load", ({ target }) => arrived(target));
      sending.addEventListener("error", () => {
        busy(false);
        complain("The connection broke. Your files are still chosen: try again.");
      });
      sending.addEventListener("abort", () => {
        busy(false);
        complain("Cancelled. Your files are still chosen.");
      });
      doing.textContent = "Sending";
      bar.removeAttribute("value");
      status.textContent = "";
      busy(true);
      sending.send(data);
    });
    cancel.addEventListener("click", () => {
      sending?.abort();
      form.querySelector("[type=submit]").focus();
    });
  }

  document.querySelectorAll("[data-upload]").forEach(enhance);
})();
