"use strict";
(() => {
  // In a frame of ours a report tells where its reader is: under which heading,
  // and how far below it. The next report opens there, whatever its length is.
  if (parent === window) return;
  const above = (e) => e ? -e.getBoundingClientRect().top : scrollY;
  addEventListener("load", () => {
    const [id, by] = location.hash.slice(1).split(":");
    if (by) scrollBy({top: Number(by) - above(document.getElementById(id)), behavior: "instant"});
    addEventListener("scroll", () => {
      const head = [...document.querySelectorAll("h2[id]")].filter((h) => above(h) >= 0).pop();
      parent.postMessage({id: head ? head.id : "", by: above(head)}, "*");
    }, {passive: true});
  }, {once: true});
})();
