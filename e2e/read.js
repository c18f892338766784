// What tests read from a page: charts as lists of shapes, in the coordinates of
// their chart, wherever the browser has put them.
window.reader = {
  // number after number of an attribute
  shape(el, root) {
    const num = (name) => Number(el.getAttribute(name) || 0);
    const m = root.getScreenCTM().inverse().multiply(el.getScreenCTM());
    const own = el.querySelector(":scope > title");
    return {
      tag: el.tagName, class: el.getAttribute("class") || "", d: el.getAttribute("d") || "",
      x: num(el.tagName === "circle" ? "cx" : "x"), y: num(el.tagName === "circle" ? "cy" : "y"),
      w: num("width"), h: num("height"), m: [m.a, m.b, m.c, m.d, m.e, m.f],
      text: el.tagName === "text" ? el.textContent : "", title: own ? own.textContent : "",
    };
  },
  chart(svg) {
    const part = svg.closest("main").querySelectorAll("h2");
    let section = "";
    for (const h of part) if (h.compareDocumentPosition(svg) & Node.DOCUMENT_POSITION_FOLLOWING) section = h.id;
    return {
      label: svg.getAttribute("aria-label"), section, plot: svg.dataset.plot || "",
      shapes: [...svg.querySelectorAll("path,rect,circle,text")].map((el) => this.shape(el, svg)),
    };
  },
  charts() { return [...document.querySelectorAll("figure svg.brunt-chart")].map((svg) => this.chart(svg)); },
};
Object.assign(window.reader, {
  // Red, green, blue and opacity of a colour as the browser computes it.
  colour(text) {
    const n = text.match(/[\d.]+/g).map(Number);
    return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1];
  },
  seen(el) { return el.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}); },
  // What a text is written on: the first ancestor that is not transparent.
  paper(el) {
    const svg = el.closest("svg");
    if (svg) return this.colour(getComputedStyle(svg.querySelector("rect.paper") || svg.ownerSVGElement.querySelector("rect.paper")).fill);
    for (let e = el; e; e = e.parentElement) {
      const c = this.colour(getComputedStyle(e).backgroundColor);
      if (c[3] === 1) return c;
    }
    return [255, 255, 255, 1];
  },
  // Every kind of text that is seen: colour and paper, with an example.
  texts() {
    const kinds = new Map();
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const el = node.parentElement;
      if (!node.textContent.trim() || el.closest("script, style, title, desc, [aria-hidden=true]") || !this.seen(el)) continue;
      const style = getComputedStyle(el), ink = this.colour(el.closest("svg") ? style.fill : style.color), paper = this.paper(el);
      const key = ink + "/" + paper;
      if (!kinds.has(key)) kinds.set(key, {Text: node.textContent.trim().slice(0, 60), Ink: ink, Paper: paper, Where: this.sign(el)});
    }
    return [...kinds.values()];
  },
  // What an element is, for people.
  sign(el) {
    const name = el.getAttribute("aria-label") || el.textContent.trim().replace(/\s+/g, " ");
    return el.tagName.toLowerCase() + " " + name.slice(0, 50);
  },
  // The name that assistive technology gives an element.
  named(el) {
    if (el.getAttribute("aria-label")) return el.getAttribute("aria-label");
    if (el.labels && el.labels.length) return [...el.labels].map((l) => [...l.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent).join("")).join(" ").trim();
    if (el.tagName.toLowerCase() === "svg") return "";
    return el.textContent.trim();
  },
  nameless() {
    const wrong = [];
    for (const el of document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex], [role=region], [role=group], [role=search], nav, svg.brunt-chart, table.data")) {
      if (!this.named(el)) wrong.push(el.outerHTML.slice(0, 120));
    }
    for (const svg of document.querySelectorAll("svg.brunt-chart")) {
      if (svg.getAttribute("role") !== "img" || !svg.querySelector(":scope > title") || !svg.querySelector(":scope > desc").textContent.trim()) wrong.push("svg without role, title or description: " + svg.outerHTML.slice(0, 120));
    }
    for (const th of document.querySelectorAll("th")) if (!th.scope) wrong.push("th without scope: " + th.textContent);
    return wrong;
  },
  // What the tab key reaches, in order.
  focusable() {
    return [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter((el) => this.seen(el) && !el.disabled).map((el) => this.sign(el));
  },
  // Headings that leave out a level, ids that are there twice.
  outline() {
    const wrong = [];
    let before = 0;
    for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
      const level = Number(h.tagName[1]);
      if (level > before + 1) wrong.push("a heading leaves out a level: " + h.textContent);
      before = level;
    }
    if (document.querySelectorAll("h1").length !== 1) wrong.push("not exactly one first heading");
    if (!document.documentElement.lang || !document.title) wrong.push("no language or no title");
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
    for (const id of new Set(ids)) if (ids.filter((i) => i === id).length > 1) wrong.push("two elements with the id " + id);
    return wrong;
  },
  // Controls that are hard to hit, and text that is hard to read.
  small() {
    const wrong = [];
    for (const el of document.querySelectorAll(".zoom button, .find button, .find input, .choose select")) {
      const b = el.getBoundingClientRect();
      if (this.seen(el) && (b.height < 24 || b.width < 24)) wrong.push(this.sign(el) + " is " + b.width.toFixed(0) + " by " + b.height.toFixed(0));
    }
    for (const text of document.querySelectorAll("svg.brunt-chart text")) {
      if (!this.seen(text)) continue;
      const svg = text.closest("svg.brunt-chart"), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (size < 8.5) wrong.push("text of " + size.toFixed(1) + " pixels: " + text.textContent);
    }
    return [...new Set(wrong)].slice(0, 10);
  },
  // Texts of a chart that stand on one another, or leave it.
  overlaps() {
    const wrong = [];
    for (const svg of document.querySelectorAll("svg.brunt-chart")) {
      const frame = svg.getBoundingClientRect();
      const all = [...svg.querySelectorAll("text")].filter((e) => this.seen(e) && e.textContent).map((e) => ({e, b: e.getBoundingClientRect()}));
      all.forEach(({e, b}, i) => {
        if (b.width === 0) return;
        if (b.left < frame.left - 1 || b.right > frame.right + 1) wrong.push(svg.getAttribute("aria-label") + ": leaves the chart: " + e.textContent);
        for (const o of all.slice(0, i)) {
          const w = Math.min(b.right, o.b.right) - Math.max(b.left, o.b.left), h = Math.min(b.bottom, o.b.bottom) - Math.max(b.top, o.b.top);
          if (w > 1 && h > 3) wrong.push(svg.getAttribute("aria-label") + ": " + e.textContent + " stands on " + o.e.textContent);
        }
      });
    }
    return wrong.slice(0, 10);
  },
  // What is wider than the sheet.
  cut(width) {
    const wrong = [];
    for (const el of document.querySelectorAll("body *")) {
      if (el.closest("svg svg, .watermark, .skip") || !this.seen(el) || el.matches("title, desc, script, style")) continue;
      if (el.ownerSVGElement) continue;
      const b = el.getBoundingClientRect();
      if (b.width > 0 && b.right > width + 1 && !el.closest(".skip")) wrong.push(this.sign(el) + " ends at " + b.right.toFixed(0));
    }
    return wrong.slice(0, 10);
  },
});
