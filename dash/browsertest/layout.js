// Returns what is wrong with the layout of the page in a window of this width: a list of texts.
(width) => {
  const faults = [];
  const box = (r) => [r.left, r.top, r.width, r.height].map(Math.round).join(" ");
  const name = (e) => `${e.localName}${e.getAttribute("id") ? "#" + e.getAttribute("id") : ""}${e.className.baseVal === undefined && e.className ? "." + e.className.replaceAll(" ", ".") : ""}`;
  const quote = (text) => JSON.stringify(text.trim().slice(0, 40));

  for (const d of document.querySelectorAll("details:not(.menu)")) d.open = true;
  for (const menu of document.querySelectorAll("details.menu")) {
    menu.open = true;
    const r = menu.querySelector("div").getBoundingClientRect();
    const from = menu.querySelector("summary").getBoundingClientRect();
    if (r.left < 0 || r.right > width || r.left > from.right || r.right < from.left || r.top - from.bottom > 16) faults.push(`a menu opens at ${box(r)}, from ${box(from)}`);
    for (const item of menu.querySelectorAll("div button")) {
      const text = document.createRange();
      text.selectNodeContents(item);
      if (new Set([...text.getClientRects()].map((r) => Math.round(r.top))).size > 1) faults.push(`${quote(item.innerText)} takes two lines of a menu`);
    }
    menu.open = false;
  }

  const wide = document.documentElement.scrollWidth;
  if (wide > width) {
    const beyond = [...document.querySelectorAll("main *, header *")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > width + 1);
    faults.push(`it is ${wide} wide: ${beyond.slice(0, 5).map(name).join(" ")}`);
  }
  const main = document.querySelector("main").getBoundingClientRect();
  if (main.width < width * 0.8) faults.push(`the page takes ${Math.round(main.width)} of it`);

  // The visible part of an element: the part that no ancestor hides or scrolls out of view.
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
    pen.font = `${style.fontSize} ${style.fontFamily}`; // style.font is empty for tabular digits
    const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (pen.measureText(input.placeholder).width > room + 1) faults.push(`the placeholder ${quote(input.placeholder)} is cut`);
  }

  // Elements with their own border are completely visible, and lie within the padding of their cell.
  for (const e of document.querySelectorAll("main :is(button, .button, .state, .tag, .tile, pre)")) {
    if (!e.checkVisibility({ visibilityProperty: true }) || e.closest("dialog")) continue;
    const r = e.getBoundingClientRect();
    const c = clip(e.parentElement);
    if (r.right > c.right + 0.5 || r.left < c.left - 0.5) faults.push(`the edge of ${name(e)} ${quote(e.innerText)} is cut off`);
    const cell = e.closest("td");
    if (!cell || e.matches("pre")) continue;
    const style = getComputedStyle(cell);
    const edge = cell.getBoundingClientRect();
    if (r.right > edge.right - parseFloat(style.paddingRight) + 1 || r.left < edge.left + parseFloat(style.paddingLeft) - 1) faults.push(`${name(e)} ${quote(e.innerText)} lies on the padding of its cell`);
  }

  for (const e of document.querySelectorAll("td :is(button, .button)")) {
    for (const svg of e.checkVisibility() ? e.closest("tr").querySelectorAll("svg") : []) {
      const [a, b] = [e.getBoundingClientRect(), svg.getBoundingClientRect()];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) faults.push(`${name(e)} ${quote(e.innerText)} lies on a chart`);
    }
  }

  // Buttons in a line have equal distances.
  for (const row of document.querySelectorAll("main .buttons")) {
    const line = [...row.querySelectorAll("button, .button, summary")].filter((e) => e.checkVisibility() && !e.closest(".menu > div")).map((e) => e.getBoundingClientRect()).sort((a, b) => a.left - b.left);
    const gaps = line.slice(1).map((r, i) => Math.round(r.left - line[i].right)).filter((gap) => gap > 0);
    if (gaps.length > 1 && Math.max(...gaps) > Math.min(...gaps) + 2 || gaps[0] > 24) faults.push(`buttons of ${name(row)} stand ${gaps.join(" and ")} apart`);
  }

  // The head of a numeric column is aligned with its numbers; the labels of fields in a line are in a line.
  for (const th of document.querySelectorAll(".list th")) {
    if (width <= 640 || getComputedStyle(th).textAlign !== "end" || !th.innerText.trim() || th.querySelector(".over")) continue;
    const range = document.createRange();
    range.selectNodeContents(th.querySelector("a")?.firstChild ?? th);
    const rest = th.getBoundingClientRect().right - parseFloat(getComputedStyle(th).paddingRight) - Math.max(...[...range.getClientRects()].map((r) => r.right));
    if (Math.abs(rest) > 2) faults.push(`the head ${quote(th.innerText)} ends ${Math.round(rest)} px before its column does`);
  }
  const fields = [...document.querySelectorAll(".search > .field")].map((e) => ({ e, bottom: e.getBoundingClientRect().bottom, top: e.getBoundingClientRect().top }));
  for (const a of fields) for (const b of fields) if (Math.abs(a.bottom - b.bottom) < 0.5 && a.top < b.top - 0.3) faults.push(`the field ${quote(a.e.innerText)} begins above ${quote(b.e.innerText)}`);

  // Content that is opened in a list has the width of the list; a value with many lines has the width of its card.
  for (const pre of document.querySelectorAll("td pre")) {
    const list = pre.closest("table").clientWidth;
    const r = pre.getBoundingClientRect();
    if (r.width < list * 0.9 || r.right > pre.closest("table").getBoundingClientRect().right) faults.push(`${quote(pre.innerText)} takes ${Math.round(r.width)} of the ${list} of its list`);
  }
  for (const td of width > 640 ? [] : document.querySelectorAll(".list:not(.jobs) td")) {
    const text = document.createRange();
    text.selectNodeContents(td);
    const r = { width: td.getBoundingClientRect().width, height: text.getBoundingClientRect().height };
    const row = td.parentElement.getBoundingClientRect();
    if (r.width < row.width * 0.7 && r.height > 75) faults.push(`${quote(td.innerText)} takes ${Math.round(r.height)} px of height in ${Math.round(r.width)} of ${Math.round(row.width)}`);
  }

  // The heading of a chart has one line.
  for (const h of document.querySelectorAll(".chart h2")) {
    const parts = document.createRange();
    parts.selectNodeContents(h);
    const lines = [...parts.getClientRects()].filter((r) => r.width > 0);
    if (width > 640 && Math.max(...lines.map((r) => r.top)) > Math.min(...lines.map((r) => r.bottom))) faults.push(`the heading ${quote(h.innerText)} takes two lines`);
  }

  // The counts of states are all beside their names, or all below them.
  const beside = [...document.querySelectorAll(".tabs a")].filter((a) => a.querySelector("b").innerText.trim()).map((a) => a.querySelector("b").getBoundingClientRect().left > a.querySelector("span").getBoundingClientRect().right);
  if (new Set(beside).size > 1) faults.push("some counts of states stand beside their names, some below");
  if (beside.length && beside.every(Boolean) && document.querySelector(".tabs").clientHeight > 45) faults.push("states with their counts beside them take two lines");

  // The states in a line are close to each other, however wide the window is.
  const tabs = [...document.querySelectorAll(".tabs a")].map((a) => [...a.children].map((e) => {
    const text = document.createRange();
    text.selectNodeContents(e);
    return text.getBoundingClientRect();
  }).filter((r) => r.width > 0));
  tabs.slice(1).forEach(([next], i) => {
    const rest = next.left - Math.max(...tabs[i].map((r) => r.right));
    if (rest > 200) faults.push(`there are ${Math.round(rest)} px before the state ${i + 2}`);
  });

  // A scrolling box with warnings ends between two lines.
  for (const box of document.querySelectorAll(".attention .box")) {
    const c = box.getBoundingClientRect();
    const lines = document.createRange();
    lines.selectNodeContents(box);
    for (const r of lines.getClientRects()) if (r.height < 30 && r.top < c.bottom - 3 && r.bottom > c.bottom + 3) faults.push(`a line of ${name(box)} is cut at ${box.clientHeight} of ${box.scrollHeight}`);
  }

  // Texts of the page itself are not truncated, and a number is not separated from its unit.
  for (const e of document.querySelectorAll(".tabs span, .tabs b, .list th, main h2, main button, main summary, .tile")) {
    if (getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1) faults.push(`${quote(e.innerText)} is shortened`);
  }
  for (const e of document.querySelectorAll(".list td.num, .list td.num *, .chart b, .timeline .what, .timeline .what *")) {
    for (const node of e.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE) continue;
      for (const found of node.data.matchAll(/\d\s(?:µs|ms|s|min|h|d|%)\b/g)) {
        const range = document.createRange();
        range.setStart(node, found.index);
        range.setEnd(node, found.index + found[0].length);
        if (new Set([...range.getClientRects()].filter((r) => r.width > 0).map((r) => r.top)).size > 1) faults.push(`${quote(node.data)} is divided before its unit`);
      }
    }
  }

  // A time is on one line, and so is a link beside a fact; the cells of a card are aligned at one edge.
  for (const e of document.querySelectorAll(".list td time, .facts .hint")) if (e.getClientRects().length > 1) faults.push(`${quote(e.innerText)} takes two lines`);
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
    const cell = e.closest("td, th, button, .button, .tag, .tile, .chart, section, li, main, header, pre");
    const edge = cell.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) {
      const t = { node, left: Math.max(r.left, c.left), right: Math.min(r.right, c.right), top: Math.max(r.top, c.top), bottom: Math.min(r.bottom, c.bottom) };
      if (c.hides && (r.right > c.right + 1 || r.left < c.left - 1) && t.bottom > t.top) faults.push(`${quote(node.data)} is cut off by ${name(c.hides)}`);
      if (t.right - t.left < 2 || t.bottom - t.top < 2) continue;
      if (t.right > edge.right + 1 || t.left < edge.left - 1) faults.push(`${quote(node.data)} sticks out of ${name(cell)}`);
      if (cell.matches("td.num") && t.right > edge.right - parseFloat(getComputedStyle(cell).paddingRight) + 1) faults.push(`${quote(node.data)} ends beyond the other figures of its column`);
      texts.push(t);
    }
  }

  // There is no large vertical gap between two visible elements.
  const drawn = texts.filter((t) => t.node.parentElement.closest("main")).map((t) => [t.top + scrollY, t.bottom + scrollY]);
  for (const e of document.querySelectorAll("main *")) {
    if (e.closest("#trouble, dialog") || !e.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(e);
    if (parseFloat(style.borderBottomWidth) > 0 || e.matches(".empty, svg, progress, input, pre")) drawn.push([e.getBoundingClientRect().top + scrollY, e.getBoundingClientRect().bottom + scrollY]);
  }
  drawn.sort((a, b) => a[0] - b[0]);
  let end = drawn[0]?.[0];
  for (const [top, bottom] of drawn) {
    if (top - end > 48) faults.push(`there is nothing from ${Math.round(end)} to ${Math.round(top)}`);
    end = Math.max(end, bottom);
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
