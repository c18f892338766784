"use strict";
(() => {
  // A table is sorted by what its cells say they are worth, else by their text.
  const worth = (cell) => cell ? cell.dataset.sort ?? cell.textContent : "";
  const compare = (a, b) => {
    const x = worth(a), y = worth(b), m = Number(x), n = Number(y);
    if (x !== "" && y !== "" && !Number.isNaN(m) && !Number.isNaN(n)) return m - n;
    return x.localeCompare(y);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (head.classList.contains("plain")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      if (head.title) button.title = head.title;
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        const wordy = (row) => row.querySelector(".words") && column > 3;
        rows.sort((a, b) => {
          if (wordy(a) || wordy(b)) return wordy(a) && wordy(b) ? 0 : wordy(a) ? 1 : -1;
          const order = compare(a.cells[column], b.cells[column]);
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows);
      });
    });
  }

  const form = document.querySelector("form.try");
  if (!form) return;
  const by = (id) => document.getElementById(id);
  const knobs = [...form.querySelectorAll(".knob")].map((box) => {
    const [slider, field] = box.querySelectorAll("input");
    return {box, slider, field, path: box.dataset.path, now: box.dataset.now, values: box.dataset.values.split(" ")};
  });
  const show = (k) => {
    k.slider.setAttribute("aria-valuetext", k.field.value);
    k.box.classList.toggle("changed", k.field.value !== k.now);
  };
  let id = "", asked = null, timer = 0;

  const table = (heads, rows) => {
    const t = document.createElement("table"), head = t.createTHead().insertRow(), body = t.createTBody();
    for (const h of heads) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = h;
      head.append(th);
    }
    for (const row of rows) {
      const tr = body.insertRow();
      row.forEach((text, i) => {
        const cell = document.createElement(i ? "td" : "th");
        if (!i) cell.scope = "row";
        cell.textContent = text;
        tr.append(cell);
      });
    }
    return t;
  };
  const post = async (address, body, signal) => {
    const response = await fetch(address, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal});
    if (!(response.headers.get("Content-Type") || "").startsWith("application/json")) throw new Error("brunt serve answers " + response.status + ": open the address that it has printed anew");
    return response.json();
  };
  // Where the reader is in the report that is shown. A report may be anybody's
  // work: what does not look like a place is none.
  let place = "";
  addEventListener("message", (e) => {
    const shown = by("reports").querySelector("iframe:not(.coming)");
    if (!shown || e.source !== shown.contentWindow || !e.data) return;
    const {id, by: below} = e.data;
    if (/^[\w.-]*$/.test(id) && Number.isFinite(below)) place = "#" + id + ":" + Math.round(below);
  });
  // A new frame takes the place of the old one when it is there: nothing flickers,
  // and there is no step for the way back. One that is overtaken is never seen.
  const reveal = (address) => {
    const frame = document.createElement("iframe");
    frame.className = "report coming";
    frame.title = "The report of this run";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.src = address + "&frame" + place;
    frame.addEventListener("load", () => {
      for (const other of [...by("reports").children]) if (other !== frame) other.remove();
      frame.classList.remove("coming");
    }, {once: true});
    for (const other of by("reports").querySelectorAll(".coming")) other.remove();
    by("reports").append(frame);
  };
  const say = (text, bad) => {
    by("status").textContent = text;
    by("status").className = bad ? "bad" : "";
  };

  // Only the last choice counts: what was asked for before is given up.
  const run = async () => {
    clearTimeout(timer);
    if (asked) asked.abort();
    const mine = asked = new AbortController();
    form.classList.add("busy");
    say("Running …");
    by("keep").disabled = true;
    try {
      const sets = knobs.filter((k) => k.field.value !== k.now).map((k) => ({path: k.path, value: k.field.value}));
      const a = await post("/run", {study: form.dataset.study, sets}, mine.signal);
      if (mine !== asked) return;
      if (a.command) by("command").textContent = a.command;
      if (a.error) {
        say(a.error, true);
        return;
      }
      id = a.id;
      const took = "Ran in " + Math.max(1, Math.round(a.millis)) + " ms.";
      if (a.valid) say(took); else say(took + " The run is not valid: its report says why.", true);
      by("numbers").replaceChildren(table(a.heads || [], a.rows || []));
      const address = "/trial?id=" + encodeURIComponent(id);
      reveal(address);
      by("alone").href = address;
      by("alone").hidden = false;
      by("keep").disabled = false;
    } catch (e) {
      if (mine === asked) say(e instanceof TypeError ? "brunt serve does not answer: has it ended?" : String(e.message || e), true);
    } finally {
      if (mine === asked) form.classList.remove("busy");
    }
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(run, 150);
  };

  for (const k of knobs) {
    k.slider.addEventListener("input", () => {
      k.field.value = k.values[k.slider.value];
      show(k);
      soon();
    });
    k.field.addEventListener("change", () => {
      k.field.value = k.field.value.trim() || k.now;
      const at = k.values.indexOf(k.field.value);
      if (at >= 0) k.slider.value = at;
      show(k);
      soon();
    });
  }
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    run();
  });
  by("reset").addEventListener("click", () => {
    for (const k of knobs) {
      k.field.value = k.now;
      k.slider.value = k.values.indexOf(k.now);
      show(k);
    }
    run();
  });
  by("keep").addEventListener("click", async () => {
    by("keep").disabled = true;
    try {
      const a = await post("/keep", {id});
      if (a.error) {
        say(a.error, true);
        by("keep").disabled = false;
      } else say("Kept as " + a.run + ".");
    } catch (e) {
      say(String(e.message || e), true);
      by("keep").disabled = false;
    }
  });
  // A browser that goes back fills in what was chosen.
  for (const k of knobs) {
    const at = k.values.indexOf(k.field.value);
    if (at >= 0) k.slider.value = at;
    show(k);
  }
  run();
})();
