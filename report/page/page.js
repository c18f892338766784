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

  // The numbers under the pointer, or of the column chosen by arrow keys, from the
  // table behind the chart.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const show = (table, i, x, y) => {
    const row = table.tBodies[0].rows[i];
    if (!row) { tip.hidden = true; return; }
    const list = document.createElement("dl");
    [...row.cells].forEach((cell, c) => {
      if (!cell.textContent || cell.textContent === "0" && c > 0) return;
      const name = document.createElement("dt"), value = document.createElement("dd");
      name.textContent = table.tHead.rows[0].cells[c].textContent;
      value.textContent = cell.textContent;
      list.append(name, value);
    });
    tip.replaceChildren(list);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 4)) + "px";
  };
  for (const figure of document.querySelectorAll("figure[data-step]")) {
    const svg = figure.querySelector("svg[data-plot]"), table = figure.querySelector("table");
    if (!svg || !table) continue;
    const [left, right, low, high] = svg.dataset.plot.split(" ").map(Number);
    const from = Number(figure.dataset.from), step = Number(figure.dataset.step);
    const column = (x) => {
      const box = svg.getBoundingClientRect();
      const at = (x - box.left) / box.width * svg.viewBox.baseVal.width;
      if (at < left || at > right) return -1;
      return Math.floor((low + (at - left) / (right - left) * (high - low) - from) / step);
    };
    let chosen = -1;
    svg.addEventListener("pointermove", (e) => {
      chosen = Math.min(column(e.clientX), table.tBodies[0].rows.length - 1);
      show(table, chosen, e.clientX, e.clientY);
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    svg.tabIndex = 0;
    svg.addEventListener("keydown", (e) => {
      const last = table.tBodies[0].rows.length - 1;
      if (e.key === "ArrowRight") chosen = Math.min(chosen + 1, last);
      else if (e.key === "ArrowLeft") chosen = Math.max(chosen - 1, 0);
      else if (e.key === "Escape") { tip.hidden = true; return; }
      else return;
      e.preventDefault();
      const box = svg.getBoundingClientRect();
      const at = left + (from + (chosen + .5) * step - low) / (high - low) * (right - left);
      show(table, chosen, box.left + at / svg.viewBox.baseVal.width * box.width, Math.max(box.top, 0) + 30);
    });
    svg.addEventListener("blur", () => { tip.hidden = true; });
  }
})();
