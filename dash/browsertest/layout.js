// What is wrong with how the page is laid out in a window of a width: a list of texts.
(width) => {
  const faults = [];
  const box = (r) => [r.left, r.top, r.width, r.height].map(Math.round).join(" ");
  const name = (e) => `${e.localName}${e.id ? "#" + e.id : ""}${e.className.baseVal === undefined && e.className ? "." + e.className.replaceAll(" ", ".") : ""}`;
  const quote = (text) => JSON.stringify(text.trim().slice(0, 40));

  for (const d of document.querySelectorAll("details:not(.menu)")) d.open = true;
  for (const menu of document.querySelectorAll("details.menu")) {
    menu.open = true;
    const r = menu.querySelector("div").getBoundingClientRect();
    if (r.left < 0 || r.right > width) faults.push(`a menu opens at ${box(r)}`);
    menu.open = false;
  }

  const wide = document.documentElement.scrollWidth;
  if (wide > width) {
    const beyond = [...document.querySelectorAll("main *, header *")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > width + 1);
    faults.push(`it is ${wide} wide: ${beyond.slice(0, 5).map(name).join(" ")}`);
  }
  const main = document.querySelector("main").getBoundingClientRect();
  if (main.width < width * 0.8) faults.push(`the page takes ${Math.round(main.width)} of it`);

  // What of an element can be seen: that which none of its ancestors hides or scrolls.
  const seen = new Map([[null, { left: -1e6, top: -1e6, right: 1e6, bottom: 1e6, hides: null }]]);
  const clip = (e) => {
    if (seen.has(e)) return seen.get(e);
    let c = clip(e.parentElement);
    const style = getComputedStyle(e);
    if (style.overflowX !== "visible" && e !== document.body && e !== document.documentElement) {
      const r = e.getBoundingClientRect();
      c = { left: Math.max(c.left, r.left), top: Math.max(c.top, r.top), right: Math.min(c.right, r.right), bottom: Math.min(c.bottom, r.bottom), hides: c.hides };
      if (style.overflowX === "hidden" && style.textOverflow !== "ellipsis") c.hides = e;
      if (/auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1) faults.push(`${name(e)} scrolls sideways`);
    }
    seen.set(e, c);
    return c;
  };

  const pen = document.createElement("canvas").getContext("2d");
  for (const input of document.querySelectorAll("input[placeholder]")) {
    if (!input.checkVisibility({ visibilityProperty: true }) || input.value) continue;
    const style = getComputedStyle(input);
    pen.font = `${style.fontSize} ${style.fontFamily}`; // style.font is empty where digits are tabular
    const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (pen.measureText(input.placeholder).width > room + 1) faults.push(`the placeholder ${quote(input.placeholder)} is cut`);
  }

  // A time is one line, and what is in the cells of a card begins at one edge.
  for (const e of document.querySelectorAll(".list td time")) if (e.getClientRects().length > 1) faults.push(`${quote(e.innerText)} takes two lines`);
  for (const row of document.querySelectorAll(".list.failures tbody tr, .list.queues tbody tr")) {
    if (width > 640) break;
    const edges = [...row.cells].filter((e) => e.getBoundingClientRect().left - row.getBoundingClientRect().left < 20);
    if (new Set(edges.map((e) => Math.round(e.getBoundingClientRect().left + parseFloat(getComputedStyle(e).paddingLeft)))).size > 1) faults.push(`${name(row.closest("table"))} has two left edges in a card`);
  }

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest(".over, .skip, #trouble, svg, script, noscript, datalist, select, textarea, dialog:not([open])")) continue;
    if (!e.checkVisibility({ visibilityProperty: true })) continue;
    const c = clip(e);
    const cell = e.closest("td, th, button, .button, .tag, .tile, .chart, section, li, main, header");
    const edge = cell.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) {
      const t = { node, left: Math.max(r.left, c.left), right: Math.min(r.right, c.right), top: Math.max(r.top, c.top), bottom: Math.min(r.bottom, c.bottom) };
      if (c.hides && (r.right > c.right + 1 || r.left < c.left - 1) && t.bottom > t.top) faults.push(`${quote(node.data)} is cut off by ${name(c.hides)}`);
      if (t.right - t.left < 2 || t.bottom - t.top < 2) continue;
      if (t.right > edge.right + 1 || t.left < edge.left - 1) faults.push(`${quote(node.data)} sticks out of ${name(cell)}`);
      texts.push(t);
    }
  }
  texts.sort((a, b) => a.top - b.top);
  texts.forEach((a, i) => {
    for (let k = i + 1; k < texts.length && texts[k].top < a.bottom - 3; k++) {
      const b = texts[k];
      if (a.node !== b.node && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - b.top > 3) {
        faults.push(`${quote(a.node.data)} and ${quote(b.node.data)} are printed over each other at ${box({ left: b.left, top: b.top, width: b.right - b.left, height: b.bottom - b.top })}`);
      }
    }
  });
  return [...new Set(faults)].slice(0, 8);
}
