"use strict";
(() => {
  // What a cell is worth when its column is sorted. Words come after all numbers.
  const units = {ns: 1e-6, "µs": 1e-3, ms: 1, s: 1e3, min: 6e4};
  const worth = (cell) => {
    const text = cell.textContent.split(" / ")[0].replace(/,/g, "");
    const parts = [...text.matchAll(/([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(ns|µs|ms|min|s)?(?![a-z])/gi)];
    if (!/^[\s<>≤≥~]*[+-]?\d/.test(text) || !parts.length) return null;
    let sum = Number(parts[0][1]) * (units[parts[0][2]] || 1);
    if (parts[0][2] === "min" && parts[1] && parts[1][2] === "s") sum += Number(parts[1][1]) * 1e3;
    return sum;
  };
  const compare = (a, b) => {
    const x = worth(a), y = worth(b);
    if (x !== null && y !== null) return x - y;
    if (x !== null) return -1;
    if (y !== null) return 1;
    return a.textContent.localeCompare(b.textContent);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      if (head.title) button.title = head.title;
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows];
        const isWords = (row) => worth(row.cells[column]) === null;
        rows.sort((a, b) => {
          const x = a.cells[column], y = b.cells[column];
          if (isWords(a) !== isWords(b)) return isWords(a) ? 1 : -1;
          return down ? compare(y, x) : compare(x, y);
        });
        for (const row of rows) row.classList.remove("first");
        for (const cell of body.querySelectorAll(".again")) cell.classList.remove("again");
        body.append(...rows);
      });
    });
  }

  // An element with properties, and what stands in it.
  const make = (name, properties, ...inside) => {
    const element = document.createElement(name);
    for (const key of Object.keys(properties)) {
      if (key in element) element[key] = properties[key];
      else element.setAttribute(key, properties[key]);
    }
    element.append(...inside);
    return element;
  };
  const svgElement = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key of Object.keys(attributes)) element.setAttribute(key, attributes[key]);
    return element;
  };

  // The numbers under the pointer, or of the column chosen by arrow keys, from the
  // table behind the chart.
  const tip = make("div", {className: "tip", hidden: true, role: "status"});
  document.body.append(tip);
  const show = (table, i, x, y) => {
    const row = table.tBodies[0].rows[i];
    if (!row) { tip.hidden = true; return; }
    const list = document.createElement("dl");
    [...row.cells].forEach((cell, c) => {
      if (!cell.textContent || cell.textContent === "0" && c > 0) return;
      list.append(make("dt", {}, table.tHead.rows[0].cells[c].textContent), make("dd", {}, cell.textContent));
    });
    tip.replaceChildren(list);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 4)) + "px";
  };

  // Charts over time show the same stretch of it in all of a part.
  const parts = new Map();
  for (const figure of document.querySelectorAll("figure[data-step]")) {
    const svg = figure.querySelector("svg[data-plot]"), table = figure.querySelector("table");
    if (!svg || !table) continue;
    const [left, right, low, high, unit] = svg.dataset.plot.split(" ").map(Number);
    const chart = {
      svg, table, left, right, low, high, unit, chosen: -1,
      from: Number(figure.dataset.from), step: Number(figure.dataset.step),
      views: [...svg.querySelectorAll("svg.view")].map((view) => ({view, box: view.getAttribute("viewBox").split(" ").map(Number)})),
      names: [...svg.querySelectorAll("text[data-at]")].map((name) => ({
        name, at: name.dataset.at.split(" ").map(Number), x: Number(name.getAttribute("x")), text: name.textContent,
        spare: name.classList.contains("spare"), note: name.classList.contains("halo"),
      })),
      ticks: [...svg.querySelectorAll("path.tick")].map((tick) => ({tick, d: tick.getAttribute("d")})),
      labels: svg.querySelector("g.ticks"),
    };
    chart.label = [...chart.labels.children];
    const home = figure.closest(".figures") || figure;
    if (!parts.has(home)) parts.set(home, {home, charts: [], low, high, lo: low, hi: high});
    const part = parts.get(home);
    part.charts.push(chart);
    part.low = part.lo = Math.min(part.low, low);
    part.high = part.hi = Math.max(part.high, high);
  }

  // The instant under a pixel of the window, and the pixel of an instant.
  const instant = (part, chart, x) => {
    const box = chart.svg.getBoundingClientRect();
    const at = (x - box.left) / box.width * chart.svg.viewBox.baseVal.width;
    if (at < chart.left || at > chart.right) return NaN;
    return part.lo + (at - chart.left) / (chart.right - chart.left) * (part.hi - part.lo);
  };
  const pixel = (part, chart, t) => {
    const box = chart.svg.getBoundingClientRect();
    const at = chart.left + (t - part.lo) / (part.hi - part.lo) * (chart.right - chart.left);
    return box.left + at / chart.svg.viewBox.baseVal.width * box.width;
  };
  const words = (chart, t) => (t / chart.unit).toLocaleString("en-US", {maximumFractionDigits: 3}) + (chart.unit === 1000 ? " s" : " ms");

  // The axis of a stretch: ticks at 1, 2 or 5 times a power of ten.
  const axis = (part, chart) => {
    const lo = part.lo / chart.unit, hi = part.hi / chart.unit, raw = (hi - lo) / 8;
    let power = Math.floor(Math.log10(raw)), lead = [1, 2, 5].find((n) => n * 10 ** power >= raw * (1 - 1e-9));
    if (!lead) { lead = 1; power++; }
    const y = chart.label.length ? chart.label[0].getAttribute("y") : 0, digits = Math.max(0, -power), list = [];
    for (let n = Math.ceil(lo / (lead * 10 ** power) - 1e-9); n * lead * 10 ** power <= hi * (1 + 1e-9); n++) {
      const v = Number((n * lead * 10 ** power).toFixed(digits));
      const x = chart.left + (v - lo) / (hi - lo) * (chart.right - chart.left);
      const label = svgElement("text", {x: Math.min(Math.max(x, 22), 698).toFixed(1), y, class: "small soft mid"});
      label.textContent = v.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits});
      list.push({x, label});
    }
    return list;
  };

  const draw = (part, chart) => {
    const {left, right, low, high} = chart, all = part.lo <= part.low && part.hi >= part.high;
    const wide = right - left, from = left + (part.lo - low) / (high - low) * wide, span = (part.hi - part.lo) / (high - low) * wide;
    chart.svg.classList.toggle("zoomed", !all);
    for (const {view, box} of chart.views) {
      view.setAttribute("viewBox", (all ? box : [from, box[1], span, box[3]]).join(" "));
    }
    const list = all ? [] : axis(part, chart);
    chart.labels.replaceChildren(...(all ? chart.label : list.map((tick) => tick.label)));
    for (const {tick, d} of chart.ticks) {
      const y = (/^M\S+ ([\d.]+)/.exec(d) || [])[1];
      tick.setAttribute("d", all || !y ? d : list.map(({x}) => "M" + x.toFixed(1) + " " + y + "v4").join(""));
    }
    const place = (x) => left + (x - from) / span * wide;
    const ends = {};
    for (const n of chart.names) {
      n.name.classList.toggle("spare", all && n.spare);
      n.name.textContent = n.text;
      n.name.setAttribute("x", n.x);
      if (all) continue;
      const a = Math.max(place(n.at[0]), left), b = Math.min(place(n.at[1]), right);
      let seen = a <= b;
      if (n.note) {
        n.name.setAttribute("x", (place(n.at[0]) + n.x - n.at[0]).toFixed(1));
      } else {
        n.name.textContent = n.name.dataset.name || n.text;
        const half = n.name.getComputedTextLength() / 2, row = n.name.getAttribute("y");
        const x = Math.min(Math.max((a + b) / 2, half + 2), chart.svg.viewBox.baseVal.width - half - 2);
        n.name.setAttribute("x", x.toFixed(1));
        seen = seen && !(x - half < ends[row] + 4);
        if (seen) ends[row] = x + half;
      }
      n.name.classList.toggle("spare", !seen);
    }
  };

  const zoom = (part, lo, hi) => {
    const whole = part.high - part.low, wide = Math.min(Math.max(hi - lo, 2 * part.charts[0].step), whole);
    lo = Math.min(Math.max((lo + hi - wide) / 2, part.low), part.high - wide);
    [part.lo, part.hi] = wide >= whole ? [part.low, part.high] : [lo, lo + wide];
    for (const chart of part.charts) draw(part, chart);
    part.told.textContent = words(part.charts[0], part.lo) + " to " + words(part.charts[0], part.hi);
    const all = wide >= whole;
    part.buttons.forEach((button, i) => button.setAttribute("aria-disabled", String(i > 0 && all || i === 2 && part.lo <= part.low || i === 3 && part.hi >= part.high)));
  };
  // By a factor, around an instant.
  const scale = (part, factor, at) => {
    const t = at >= part.lo && at <= part.hi ? at : (part.lo + part.hi) / 2;
    const wide = Math.min(Math.max((part.hi - part.lo) * factor, 2 * part.charts[0].step), part.high - part.low);
    const lo = t - (t - part.lo) / (part.hi - part.lo) * wide;
    zoom(part, lo, lo + wide);
  };
  const move = (part, share) => {
    const by = Math.min(Math.max((part.hi - part.lo) * share, part.low - part.lo), part.high - part.hi);
    zoom(part, part.lo + by, part.hi + by);
  };

  for (const part of parts.values()) {
    const does = [["Zoom in", () => scale(part, .5)], ["Zoom out", () => scale(part, 2)], ["Earlier", () => move(part, -.5)], ["Later", () => move(part, .5)],
      ["Whole run", () => zoom(part, part.low, part.high)]];
    part.buttons = does.map(([name, act]) => make("button", {type: "button", onclick: act}, name));
    part.told = make("span", {role: "status"});
    part.home.before(make("div", {className: "zoom", role: "group", "aria-label": "Zoom in time"}, ...part.buttons, part.told,
      make("span", {className: "soft"}, "Or drag across a chart; on one that has the focus: + − 0, arrows, Shift and arrows.")));
    zoom(part, part.low, part.high);
    for (const chart of part.charts) {
      const svg = chart.svg, last = chart.table.tBodies[0].rows.length - 1;
      const middle = () => chart.from + (chart.chosen + .5) * chart.step;
      let start = NaN, mark = null;
      svg.addEventListener("pointermove", (e) => {
        const t = instant(part, chart, e.clientX);
        if (mark) {
          const end = Number.isNaN(t) ? (e.clientX < pixel(part, chart, start) ? part.lo : part.hi) : t;
          const x = (v) => chart.left + (v - part.lo) / (part.hi - part.lo) * (chart.right - chart.left);
          mark.end = end;
          mark.rect.setAttribute("x", Math.min(x(start), x(end)));
          mark.rect.setAttribute("width", Math.abs(x(end) - x(start)));
          return;
        }
        const column = Math.min(Math.floor((t - chart.from) / chart.step), last);
        chart.chosen = column >= 0 ? column : -1;
        show(chart.table, chart.chosen, e.clientX, e.clientY);
      });
      svg.addEventListener("pointerleave", () => { tip.hidden = true; });
      svg.addEventListener("pointerdown", (e) => {
        start = instant(part, chart, e.clientX);
        if (e.button !== 0 || e.pointerType === "touch" || Number.isNaN(start)) return;
        const box = chart.views[0].box, low = chart.views[chart.views.length - 1].box;
        mark = {end: start, rect: svgElement("rect", {class: "part", y: box[1], width: 0, height: low[1] + low[3] - box[1]})};
        svg.append(mark.rect);
        svg.setPointerCapture(e.pointerId);
        tip.hidden = true;
      });
      const done = (take) => () => {
        if (!mark) return;
        const {end, rect} = mark;
        rect.remove();
        mark = null;
        if (take && Math.abs(pixel(part, chart, end) - pixel(part, chart, start)) > 6) zoom(part, Math.min(start, end), Math.max(start, end));
      };
      svg.addEventListener("pointerup", done(true));
      svg.addEventListener("pointercancel", done(false));
      svg.addEventListener("dblclick", () => zoom(part, part.low, part.high));
      svg.addEventListener("wheel", (e) => {
        if (!e.ctrlKey) return; // the page scrolls
        e.preventDefault();
        scale(part, e.deltaY < 0 ? .8 : 1.25, instant(part, chart, e.clientX));
      }, {passive: false});
      svg.tabIndex = 0;
      svg.addEventListener("keydown", (e) => {
        const around = chart.chosen >= 0 ? middle() : NaN;
        if (e.ctrlKey || e.altKey || e.metaKey) return;
        else if (e.key === "+" || e.key === "=") scale(part, .5, around);
        else if (e.key === "-" || e.key === "−") scale(part, 2, around);
        else if (e.key === "0") zoom(part, part.low, part.high);
        else if (e.shiftKey && e.key === "ArrowRight") move(part, .25);
        else if (e.shiftKey && e.key === "ArrowLeft") move(part, -.25);
        else if (e.key === "ArrowRight") chart.chosen = Math.min(chart.chosen + 1, last);
        else if (e.key === "ArrowLeft") chart.chosen = Math.max(chart.chosen - 1, 0);
        else if (e.key === "Escape") { tip.hidden = true; return; }
        else return;
        e.preventDefault();
        if (e.shiftKey || !e.key.startsWith("Arrow")) { tip.hidden = true; return; }
        if (middle() < part.lo) move(part, (middle() - part.lo) / (part.hi - part.lo) - .25);
        if (middle() > part.hi) move(part, (middle() - part.hi) / (part.hi - part.lo) + .25);
        show(chart.table, chart.chosen, pixel(part, chart, middle()), Math.max(svg.getBoundingClientRect().top, 0) + 30);
      });
      svg.addEventListener("blur", () => { tip.hidden = true; });
    }
  }

  // A request by its number, if it is in the sample.
  const traces = document.querySelector(".traces");
  if (traces) {
    const shown = [...traces.querySelectorAll(".trace")], most = Number(traces.dataset.requests);
    const input = make("input", {type: "text", inputMode: "numeric", autocomplete: "off"});
    const told = make("span", {role: "status"}), list = make("ul", {hidden: true});
    const go = (trace) => {
      for (const t of shown) t.classList.toggle("found", t === trace);
      trace.closest("details").open = true;
      trace.tabIndex = -1;
      trace.focus({preventScroll: true});
      trace.scrollIntoView({block: "center"});
    };
    const find = () => {
      const text = input.value.replace(/[\s,]/g, ""), n = Number(text);
      list.replaceChildren();
      list.hidden = true;
      if (!/^\d+$/.test(text) || n >= most) {
        told.textContent = "Requests are numbered from 0 to " + (most - 1).toLocaleString("en-US") + ".";
        return;
      }
      const hits = shown.filter((t) => Number(t.dataset.request) === n);
      if (!hits.length) {
        const near = [...new Set(shown.map((t) => Number(t.dataset.request)))].sort((a, b) => Math.abs(a - n) - Math.abs(b - n)).slice(0, 3).sort((a, b) => a - b);
        told.textContent = "Request " + text + " is not in the sample of " + shown.length + " that this page holds. Its rows are in requests.parquet and attempts.parquet, if they were kept: request = " + text +
          ". The nearest in the sample: " + near.join(", ") + ".";
        return;
      }
      told.textContent = "Request " + text + " is shown of " + hits.map((t) => t.dataset.of).join(", ") + ".";
      if (hits.length > 1) {
        list.hidden = false;
        for (const t of hits) list.append(make("li", {}, make("button", {type: "button", onclick: () => go(t)}, t.dataset.of)));
      } else go(hits[0]);
    };
    input.addEventListener("keydown", (e) => { if (e.key === "Enter") find(); });
    traces.prepend(make("div", {className: "find", role: "search", "aria-label": "Find a request"}, make("label", {}, "Request number ", input),
      make("button", {type: "button", onclick: find}, "Show"), told, list));
  }

  // Of all pairs of compositions the one that is chosen.
  const pairs = document.querySelector(".pairs");
  if (pairs && pairs.children.length > 1) {
    const all = [...pairs.querySelectorAll(".pair")], names = [...new Set(all.flatMap((p) => [p.dataset.a, p.dataset.b]))];
    const select = () => make("select", {}, ...names.map((name) => make("option", {value: name}, name)));
    const a = select(), b = select(), told = make("span", {role: "status"});
    const choose = () => {
      let pair = all.find((p) => p.dataset.a === a.value && p.dataset.b === b.value);
      told.textContent = "";
      if (!pair && (pair = all.find((p) => p.dataset.a === b.value && p.dataset.b === a.value))) {
        [a.value, b.value] = [b.value, a.value]; // differences are B - A, and A stands first in the study
        told.textContent = "A is the one that stands first in the study.";
      }
      if (!pair) told.textContent = a.value === b.value ? "Choose two that are not the same." : "This page does not hold these two against one another.";
      for (const p of all) p.hidden = p !== pair;
      if (pair) pair.open = true;
    };
    a.value = all[0].dataset.a;
    b.value = all[0].dataset.b;
    for (const s of [a, b]) s.addEventListener("change", choose);
    pairs.before(make("div", {className: "choose", role: "group", "aria-label": "Choose two compositions"}, make("label", {}, "A ", a), make("label", {}, "B ", b), told));
    pairs.classList.add("chosen");
    choose();
  }

  // What is wider than the window can be scrolled by keys. All is read before anything
  // is written, or the page would be laid out anew for each.
  const reach = () => {
    const boxes = [...document.querySelectorAll(".scroll")].map((box) => ({box, wide: box.scrollWidth > box.clientWidth}));
    for (const {box, wide} of boxes) {
      if (wide === (box.tabIndex === 0)) continue;
      if (!wide) { for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name); continue; }
      const inside = box.querySelector("table,svg");
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", (inside && inside.getAttribute("aria-label") || "Numbers") + ", scrolls sideways");
    }
  };
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  reach();
})();
