// Times in the reader's zone, pages that follow what happens, and buttons that copy. Every page is whole without it.
"use strict";
(() => {
  const raw = new Map();
  const parts = (root) => root.querySelectorAll("[data-live][id]");
  for (const part of parts(document)) raw.set(part.id, part.outerHTML);

  const forms = {
    minute: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    second: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
    day: { day: "numeric", month: "short", year: "numeric" },
  };
  const showTimes = (root) => {
    const today = new Date().toDateString();
    for (const element of root.querySelectorAll("time[data-grain]")) {
      const instant = new Date(element.dateTime);
      const grain = element.dataset.grain;
      const isOther = grain !== "day" && instant.toDateString() !== today;
      const form = isOther ? { day: "numeric", month: "short", ...forms[grain] } : forms[grain];
      element.textContent = new Intl.DateTimeFormat("en-GB", form).format(instant).replace(",", "");
      element.title = element.dateTime;
      delete element.dataset.grain;
    }
  };

  // A chart tells the bar under the pointer, and the one that the arrow keys choose.
  const tell = (chart, place) => {
    const told = chart.dataset.told.split("|");
    const at = Math.max(0, Math.min(told.length - 1, place));
    const begin = new Date(Number(chart.dataset.from) + at * Number(chart.dataset.step));
    const isDay = Number(chart.dataset.step) >= 864e5;
    const form = isDay ? forms.day : { day: "numeric", month: "short", ...forms.minute };
    const when = new Intl.DateTimeFormat("en-GB", form).format(begin).replace(",", "");
    const line = chart.closest(".plot").parentElement.querySelector(".told");
    line.dataset.all ??= line.textContent;
    line.textContent = `${when}: ${told[at] || "nothing"}`;
    let mark = chart.querySelector(".mark");
    if (!mark) {
      mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      mark.setAttribute("class", "mark");
      mark.setAttribute("height", 150);
      chart.append(mark);
    }
    mark.setAttribute("x", at * 720 / told.length);
    mark.setAttribute("width", 720 / told.length);
    chart.dataset.place = at;
  };
  const untell = (chart) => {
    chart.querySelector(".mark")?.remove();
    const line = chart.closest(".plot").parentElement.querySelector(".told");
    if (line.dataset.all) line.textContent = line.dataset.all;
  };
  let pointed = null;
  addEventListener("pointermove", (event) => {
    const chart = event.target.closest?.("svg[data-told]") ?? null;
    if (pointed && pointed !== chart) untell(pointed);
    pointed = chart;
    if (!chart) return;
    const box = chart.getBoundingClientRect();
    tell(chart, Math.floor((event.clientX - box.left) / box.width * chart.dataset.told.split("|").length));
  });
  addEventListener("keydown", (event) => {
    const chart = event.target.closest?.("svg[data-told]");
    const last = chart && chart.dataset.told.split("|").length - 1;
    const place = Number(chart?.dataset.place ?? last);
    const next = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last }[event.key];
    if (!chart || next === undefined) return;
    event.preventDefault();
    tell(chart, next);
  });
  addEventListener("focusout", (event) => { if (event.target.matches?.("svg[data-told]")) untell(event.target); });

  const showCopiers = (root) => {
    for (const button of root.querySelectorAll("button[data-copy]")) {
      button.hidden = !navigator.clipboard;
      button.onclick = async () => {
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
        button.textContent = "Copied";
      };
    }
  };

  // What is being read, typed or decided stays where it is, and is renewed once it is left.
  const isInUse = (part) => {
    const selection = document.getSelection();
    return part.contains(document.activeElement) || part.querySelector("details[open]:not(.api)") !== null ||
      (selection && !selection.isCollapsed && selection.containsNode(part, true));
  };
  let newest = null;
  const renew = () => {
    if (!newest) return;
    for (const part of parts(newest)) {
      const shown = document.getElementById(part.id);
      const html = part.outerHTML;
      if (!shown || raw.get(part.id) === html || isInUse(shown)) continue;
      raw.set(part.id, html);
      const fresh = document.importNode(part, true);
      const scrollers = (root) => [root, ...root.querySelectorAll(".scroll")];
      const scrolled = scrollers(shown).map((it) => it.scrollLeft);
      showTimes(fresh);
      showCopiers(fresh);
      shown.replaceWith(fresh);
      scrollers(fresh).forEach((it, place) => { it.scrollLeft = scrolled[place] ?? 0; });
    }
    document.title = newest.title;
  };

  // A file that is dropped on the lines is as one that is chosen; what it may cost is shown without leaving the page, so that
  // the file stays chosen.
  const showForm = (form) => {
    const file = form.querySelector("input[type=file]");
    const zone = form.querySelector(".zone");
    form.ondragover = (event) => { event.preventDefault(); zone.classList.add("over"); };
    form.ondragleave = () => zone.classList.remove("over");
    form.ondrop = (event) => {
      zone.classList.remove("over");
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      file.files = event.dataTransfer.files;
      file.dispatchEvent(new Event("change"));
    };
    form.onsubmit = async (event) => {
      const button = event.submitter;
      if (button?.name !== "check") return;
      event.preventDefault();
      button.disabled = true;
      const place = document.getElementById("checked");
      try {
        const answer = await fetch(button.formAction, { method: "POST", body: new FormData(form) });
        if (answer.redirected) return location.reload();
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        page.querySelector("#again")?.remove();
        const said = page.querySelector("#checked > *") ?? page.querySelector(".wrong, main > p") ?? page.createElement("p");
        place.replaceChildren(document.importNode(said, true));
      } catch {
        place.textContent = "The service did not answer. Nothing was sent.";
      }
      button.disabled = false;
    };
  };
  document.querySelectorAll("form[data-check]").forEach(showForm);

  // Two clicks are meant as one.
  addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!event.defaultPrevented && button) setTimeout(() => { button.disabled = true; });
  });
  addEventListener("pageshow", () => document.querySelectorAll("form button").forEach((button) => { button.disabled = false; }));

  let source = null;
  const mark = (isLive) => document.getElementById("live")?.toggleAttribute("hidden", !isLive);
  const stop = () => { source?.close(); source = null; mark(false); };
  const follow = () => {
    if (source || document.hidden || !document.querySelector("main[data-follow]")) return;
    source = new EventSource(location.href);
    source.onopen = () => mark(true);
    source.onmessage = (event) => {
      newest = new DOMParser().parseFromString(event.data, "text/html");
      renew();
      if (!newest.querySelector("main[data-follow]")) stop();
    };
    source.onerror = async () => {
      mark(false);
      if (source?.readyState !== EventSource.CLOSED) return;
      source = null;
      // A visitor who was signed out meanwhile is redirected to the sign-in page.
      const answer = await fetch(location.href, { redirect: "manual" }).catch(() => null);
      if (answer?.type === "opaqueredirect") location.reload();
    };
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : follow()));
  document.addEventListener("focusout", () => setTimeout(renew));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", follow);

  // On a phone the places lie in a row that is longer than the screen.
  const row = document.querySelector(".side nav");
  const here = row?.querySelector("[aria-current=page]");
  if (here) row.scrollLeft = here.offsetLeft - row.offsetLeft - (row.clientWidth - here.clientWidth) / 2;

  showTimes(document);
  showCopiers(document);
  follow();
})();
