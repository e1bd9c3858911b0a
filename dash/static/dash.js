// What the pages do with a script: live updates, relative times, keyboard shortcuts, and confirmations in a dialog. Without it
// they can be read and used all the same.

const page = document.body.dataset.page;
const byId = (id) => document.getElementById(id);
document.documentElement.classList.add("script");

// --- times

const whole = (s) => {
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
};

const pair = (s, large, name, small, rest) => {
  const left = Math.floor((s % large) / small);
  return `${Math.floor(s / large)} ${name}` + (left > 0 && s < 10 * large ? ` ${left} ${rest}` : "");
};

const span = (s) => {
  if (s < 1) return "0 s";
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return pair(s, 60, "min", 1, "s");
  if (s < 86400) return pair(s, 3600, "h", 60, "min");
  return pair(s, 86400, "d", 3600, "h");
};

const ago = (s) => {
  if (s > -1 && s < 1) return "now";
  return s < 0 ? `in ${whole(-s)}` : `${whole(s)} ago`;
};

const due = (s) => (s < 1 ? ago(s) : `due ${ago(s)}`);

function tellTimes(root) {
  const now = Date.now();
  for (const t of root.querySelectorAll("time[data-ago], time[data-due], time[data-since]")) {
    const seconds = (now - Date.parse(t.dateTime)) / 1000;
    const text = "since" in t.dataset ? span(seconds) : "due" in t.dataset ? due(seconds) : ago(seconds);
    if (t.textContent !== text) t.textContent = text;
  }
}
setInterval(() => document.hidden || tellTimes(document), 1000);

// --- updating a part of the page in place, element by element, so that the state of open, focused, scrolled or edited elements is kept

function morph(from, to) {
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !(name === "open" && from.localName === "details")) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  if (from.localName === "time") return;
  // If the text has changed, its lines are replaced as a whole: lines that stay would count as a layout shift.
  if ("whole" in from.dataset && from.textContent !== to.textContent) from.replaceChildren(...to.childNodes);
  else morphChildren(from, to);
}

function morphChildren(from, to) {
  const wanted = [...to.childNodes];
  wanted.forEach((next, i) => {
    const old = from.childNodes[i];
    if (!old) from.append(next);
    else if (old.nodeType === Node.ELEMENT_NODE && old.nodeName === next.nodeName) morph(old, next);
    // A text that is changed in place would count as a layout shift if it is aligned to its end.
    else if (old.nodeName !== next.nodeName || old.data !== next.data) old.replaceWith(next);
  });
  while (from.childNodes.length > wanted.length) from.lastChild.remove();
}

const parse = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
};

function show(element, html) {
  const next = parse(html);
  tellTimes(next);
  const follows = "end" in element.dataset && element.scrollHeight - element.scrollTop - element.clientHeight < 2;
  morphChildren(element, next);
  tellTimes(element);
  keep(element);
  if (follows) showEnd(element);
}

// A box that grows at its end shows its end, unless the reader has scrolled elsewhere.
const showEnd = (box) => { box.scrollTop = box.scrollHeight; };
document.querySelectorAll("[data-end]").forEach(showEnd);

// A list does not move while the user points at it, focuses it or has selected rows: its rows are updated in place, and a button
// shows that there are more.
const waiting = new Map();
const choosing = (list) => list.matches(":hover") || list.contains(document.activeElement) || list.querySelector("input:checked");
const rowsOf = (root) => [...root.querySelectorAll("tr[data-id]")];

// Of a list that grows at its start, only the new rows are sent.
function prepend(element, html) {
  if (!element) return;
  if (choosing(element)) {
    waiting.set(element.id, html + (waiting.get(element.id) ?? element.innerHTML));
    return tellWaiting();
  }
  if (waiting.has(element.id)) showWaiting(false);
  const next = parse(html);
  tellTimes(next);
  element.prepend(next);
  keep(element);
}

function keep(element) {
  const rows = rowsOf(element);
  for (const row of rows.slice(Number(element.dataset.keep ?? rows.length))) row.remove();
}

function update(id, html) {
  if (id.endsWith("+")) return prepend(byId(id.slice(0, -1)), html);
  const element = byId(id);
  if (!element) return;
  if ("hold" in element.dataset && rowsOf(element).length && choosing(element)) {
    const next = parse(html);
    tellTimes(next);
    const now = new Map(rowsOf(next).map((row) => [row.dataset.id, row]));
    const same = rowsOf(next).map((row) => row.dataset.id).join() === rowsOf(element).map((row) => row.dataset.id).join();
    for (const row of rowsOf(element)) if (now.has(row.dataset.id)) morph(row, now.get(row.dataset.id));
    tellTimes(element);
    same ? waiting.delete(id) : waiting.set(id, html);
  } else {
    waiting.delete(id);
    show(element, html);
  }
  tellWaiting();
}

const tellWaiting = () => byId("newer")?.classList.toggle("on", waiting.size > 0);

function showWaiting(force) {
  for (const [id, html] of [...waiting]) {
    const element = byId(id);
    if (force) for (const box of element.querySelectorAll("input:checked")) box.checked = false;
    if (force || !choosing(element)) {
      waiting.delete(id);
      show(element, html);
    }
  }
  tellWaiting();
  tellSelected();
}
setInterval(() => showWaiting(false), 1000);
byId("newer")?.addEventListener("click", () => {
  document.activeElement.blur();
  showWaiting(true);
});

// --- live

const live = byId("live");
let source;
let wanted = true;

function tellLive(state) {
  live.classList.toggle("is-live", state === "live");
  live.classList.toggle("is-lost", state === "no answer");
  live.querySelector("[data-text]").textContent = state;
  live.setAttribute("aria-pressed", String(wanted));
}

function trouble(text) {
  byId("trouble").hidden = !text;
  byId("trouble").textContent = text;
}

// A short interruption is not reported: streams end regularly and are opened again.
let lost;

function noticeLoss() {
  lost ??= setTimeout(() => trouble("This page is not up to date: the server does not answer."), 5000);
}

function forgetLoss() {
  clearTimeout(lost);
  lost = undefined;
  trouble("");
}

// A stream that is refused, rather than lost, may be refused because the session has ended.
async function noticeSignedOut() {
  const answer = await fetch(page, { method: "HEAD", headers: { Accept: "text/event-stream" } });
  if (answer.status !== 401 || source || !wanted) return;
  clearTimeout(lost);
  trouble("This page is not up to date: you are no longer signed in. Load it again to sign in.");
}

function connect() {
  if (!live || source || !wanted || document.hidden) return;
  source = new EventSource(page);
  source.addEventListener("parts", (event) => {
    tellLive("live");
    forgetLoss();
    for (const [id, html] of Object.entries(JSON.parse(event.data))) update(id, html);
  });
  source.addEventListener("trouble", (event) => {
    forgetLoss();
    tellLive("no answer");
    trouble(`This page is not up to date. ${JSON.parse(event.data)}`);
  });
  source.addEventListener("error", () => {
    tellLive("no answer");
    noticeLoss();
    if (source?.readyState !== EventSource.CLOSED) return; // the browser reconnects
    disconnect();
    setTimeout(connect, 5000);
    noticeSignedOut().catch(() => {}); // the server does not answer
  });
}

function disconnect() {
  source?.close();
  source = undefined;
}

if (live) {
  live.addEventListener("click", () => {
    wanted = !wanted;
    disconnect();
    forgetLoss();
    tellLive(wanted ? "live" : "stopped");
    connect();
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", connect);
  connect();
}

// The result of an action is shown once, not on each reload.
if (byId("told")) {
  const clean = new URL(location);
  for (const name of [...clean.searchParams.keys()]) if (name.startsWith("did")) clean.searchParams.delete(name);
  history.replaceState(null, "", clean);
}

// --- selection

const boxes = () => [...document.querySelectorAll('input[name="id"][form="actions"]')];
const everything = document.querySelector("[data-all]");

function tellSelected() {
  if (!everything) return;
  const all = boxes();
  const n = all.filter((box) => box.checked).length;
  everything.checked = n > 0 && n === all.length;
  everything.indeterminate = n > 0 && n < all.length;
  document.querySelector("[data-selected]").textContent = n ? `${n} selected` : "all";
  for (const button of byId("actions").querySelectorAll("button")) button.disabled = n === 0;
}
everything?.addEventListener("change", () => {
  for (const box of boxes()) box.checked = everything.checked;
  tellSelected();
});
document.addEventListener("change", tellSelected);
tellSelected();

// --- confirmations

const ask = byId("ask");

async function question(url) {
  const answer = await fetch(url, { headers: { Accept: "text/html" } });
  const asked = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".question, .empty");
  if (!asked) return location.assign(url);
  ask.replaceChildren(asked);
  ask.showModal();
  (ask.querySelector("input:not([type=hidden])") ?? ask.querySelector("button") ?? ask.querySelector("a")).focus();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-confirm]")) return;
  event.preventDefault();
  const q = new URLSearchParams(new FormData(form, event.submitter));
  for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
  const url = `${form.getAttribute("action")}?${q}`; // form.action is the button of that name
  question(url).catch(() => location.assign(url));
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-ask]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  question(link.href).catch(() => location.assign(link.href));
});
ask.addEventListener("click", (event) => {
  if (event.target === ask || event.target.closest("[data-close], .empty a")) {
    event.preventDefault();
    ask.close();
  }
});

// An action that takes longer than a request continues by itself until it is stopped.
document.querySelector("main > [data-go-on] form")?.submit();

// --- menus close when something else is clicked

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

// --- texts to copy

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const from = byId(button.dataset.copy);
  const select = () => getSelection().selectAllChildren(from); // if the page must not write to the clipboard
  if (!navigator.clipboard) return select();
  navigator.clipboard.writeText(from.textContent).then(() => {
    const text = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = text), 2000);
  }, select);
});

// --- the palette: pages, and the actions of this page, by name

const palette = byId("palette");
const paletteInput = byId("palette-input");
const paletteList = byId("palette-list");
let places;

const words = (text) => text.trim().replace(/\s+/g, " ");

function entries() {
  const found = [];
  const add = (name, run) => name && !found.some((e) => e.name === name) && found.push({ name, run });
  for (const a of document.querySelectorAll(".top nav a")) add(words(a.textContent), () => a.click());
  for (const e of document.querySelectorAll("main form button:not([type=button]), main .buttons a.button, main .pager a, main .ranges a")) {
    if (e.disabled || e.closest("form.search")) continue;
    const row = e.closest("tr")?.querySelector(".name")?.firstElementChild;
    add(words(`${e.textContent} ${row ? row.textContent : ""}`), () => e.click());
  }
  for (const b of document.querySelectorAll(".tools button")) add(words(b.title || b.textContent), () => b.click());
  for (const { name, url } of places ?? []) add(name, () => location.assign(url));
  return found;
}

let shown = [];
let chosen = 0;

function choose(i) {
  chosen = Math.min(Math.max(i, 0), shown.length - 1);
  [...paletteList.children].forEach((option, k) => option.setAttribute("aria-selected", String(k === chosen)));
  const option = paletteList.children[chosen];
  option ? paletteInput.setAttribute("aria-activedescendant", option.id) : paletteInput.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

// offer shows the entries that match the typed text. The chosen entry stays chosen when the places are loaded.
function offer(keep) {
  const before = keep ? shown[chosen]?.name : undefined;
  const wanted = words(paletteInput.value.toLowerCase()).split(" ");
  shown = entries().filter(({ name }) => wanted.every((w) => name.toLowerCase().includes(w))).slice(0, 50);
  paletteList.replaceChildren(...shown.map(({ name }, i) => {
    const option = document.createElement("li");
    option.id = `palette-${i}`;
    option.role = "option";
    option.textContent = name;
    return option;
  }));
  paletteList.hidden = shown.length === 0;
  byId("palette-none").textContent = shown.length ? "" : "Nothing has this name.";
  choose(shown.findIndex((e) => e.name === before));
}

async function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  paletteInput.value = "";
  offer(false);
  palette.showModal();
  paletteInput.focus();
  if (places || !palette.dataset.places) return;
  const answer = await fetch(palette.dataset.places);
  if (!answer.ok) return;
  places = await answer.json();
  offer(true);
}

function runChosen(i) {
  const entry = shown[i];
  if (!entry) return;
  palette.close();
  entry.run();
}

paletteInput.addEventListener("input", () => offer(false));
paletteInput.addEventListener("keydown", (event) => {
  switch (event.key) {
    case "ArrowDown": choose(chosen + 1); break;
    case "ArrowUp": choose(chosen - 1); break;
    case "Enter": runChosen(chosen); break;
    default: return;
  }
  event.preventDefault();
});
paletteList.addEventListener("click", (event) => {
  const option = event.target.closest("li");
  if (option) runChosen([...paletteList.children].indexOf(option));
});
palette.addEventListener("click", (event) => event.target === palette && palette.close());
document.addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  openPalette().catch(() => {}); // the palette has the pages without the places
});

// --- keys

const keysOn = byId("keys-on");
keysOn.checked = localStorage.getItem("meanwhile-keys") !== "off";
keysOn.addEventListener("change", () => localStorage.setItem("meanwhile-keys", keysOn.checked ? "on" : "off"));
byId("help").addEventListener("click", () => byId("keys").showModal());

const openers = () => [...document.querySelectorAll("[data-open]")];

function step(by) {
  const all = openers();
  const at = all.findIndex((a) => a.closest("tr") === document.activeElement.closest("tr") && a.closest("tr"));
  const next = all[Math.min(Math.max(at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    if (typing || event.target.matches("[data-open]")) event.target.blur();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || !keysOn.checked) return;
  const search = document.querySelector("[data-search]");
  switch (event.key) {
    case "/":
      search ? search.focus() : location.assign(document.querySelector('.top nav a[href$="/jobs"], .top nav a[href$="/logs"]').href + "#search");
      break;
    case "j": step(1); break;
    case "k": step(-1); break;
    case "x": {
      const box = event.target.closest("tr")?.querySelector('input[name="id"]');
      if (!box) return;
      box.checked = !box.checked;
      tellSelected();
      break;
    }
    case "?": byId("keys").showModal(); break;
    default: return;
  }
  event.preventDefault();
});
if (location.hash === "#search") document.querySelector("[data-search]")?.focus();
