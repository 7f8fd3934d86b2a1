// Brings what is on a page up to date, and adds keys. Everything can be read and used without it.

const $ = (id) => document.getElementById(id);
const make = (tag, words, props = {}) => Object.assign(document.createElement(tag), { textContent: words }, props);
const kept = (name, value) => {
  try {
    return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value);
  } catch { return null; }
};

// -- time -----------------------------------------------------------------------------------------------------

const UNITS = [["d", 86400], ["h", 3600], ["min", 60]];
const LONG_AGO = 30 * 86400; // seconds: the page has a date then

function ago(seconds) {
  for (const [unit, length] of UNITS) if (seconds >= length) return `${Math.floor(seconds / length)} ${unit} ago`;
  return "just now";
}

function tellTimes() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const words = seconds < LONG_AGO ? ago(seconds) : time.dateTime.slice(0, 10);
    if (time.textContent !== words) time.textContent = words;
  }
}

// -- what is said of the page itself --------------------------------------------------------------------------

// Also aloud: both places are live regions.
const say = (words) => { $("told").textContent = words; };
const sayAway = (is) => { $("away").textContent = is ? "not connected" : ""; };

// -- streams --------------------------------------------------------------------------------------------------

const SILENCE = 40000; // ms; the server says something every 15 s

// A stream that rests while nobody sees the page: a browser has few connections to one server.
class Stream {
  constructor(address, last, handlers) {
    Object.assign(this, { address, last, handlers });
    document.addEventListener("visibilitychange", () => this.turn());
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", (event) => event.persisted && this.turn());
    this.turn();
  }

  turn() {
    clearTimeout(this.rest);
    if (!document.hidden) this.open();
    else this.rest = setTimeout(() => this.close(), 5000);
  }

  open() {
    clearTimeout(this.again);
    if (this.source && this.source.readyState !== 2) return;
    const after = this.last ? `${this.address.includes("?") ? "&" : "?"}after=${encodeURIComponent(this.last)}` : "";
    this.source = new EventSource(this.address + after);
    this.source.onopen = () => { sayAway(false); this.heard(); };
    this.source.onerror = () => {
      sayAway(true);
      if (this.source.readyState === 2) this.ask();
    };
    for (const [kind, handle] of Object.entries({ beat: () => {}, ...this.handlers })) {
      this.source.addEventListener(kind, (event) => {
        if (event.lastEventId) this.last = event.lastEventId;
        this.heard();
        handle(JSON.parse(event.data));
      });
    }
    this.heard();
  }

  // A connection may be dead without anybody saying so, as after the computer slept.
  heard() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => { sayAway(true); this.close(); this.turn(); }, SILENCE);
  }

  // Why the server refused: a browser tells a stream nothing of that.
  async ask() {
    const status = await fetch(this.address).then((answer) => { answer.body?.cancel(); return answer.status; }, () => 0);
    if (status === 401) location.reload(); // to the form for the token
    else if (status === 404) this.handlers.gone?.();
    else this.again = setTimeout(() => this.turn(), 3000);
  }

  // As if the page had nothing yet.
  restart() {
    this.last = "";
    this.close();
    this.open();
  }

  close() {
    for (const timer of [this.again, this.silence, this.rest]) clearTimeout(timer);
    this.source?.close();
  }
}

// -- notifications --------------------------------------------------------------------------------------------

const wantsNews = () => kept("katod-news") === "1" && window.Notification?.permission === "granted";
const rowsOf = (html) => Object.assign(document.createElement("template"), { innerHTML: html.trim() }).content;

// Tells of sessions that begin to wait while nobody looks at katod. Of all open pages, one does, whatever it shows.
class Bell {
  constructor() {
    if (navigator.locks) navigator.locks.request("katod-bell", () => new Promise(() => this.take()));
    else this.take();
  }

  take() {
    this.isMine = true;
    this.turn();
  }

  turn() {
    if (this.isMine && wantsNews()) this.open();
    else this.source?.close();
  }

  open() {
    if (this.source && this.source.readyState !== 2) return;
    this.began ??= Date.now() / 1000;
    this.source = new EventSource("/live");
    this.source.onerror = () => this.source.readyState === 2 && setTimeout(() => this.turn(), 5000);
    this.source.addEventListener("all", (event) => this.look([...rowsOf(JSON.parse(event.data)).querySelectorAll(".row")], true));
    this.source.addEventListener("rows", (event) => {
      const { rows, gone } = JSON.parse(event.data);
      for (const name of gone) this.waiting?.delete(`s-${name}`);
      this.look(rows.map((html) => rowsOf(html).firstElementChild), false);
    });
  }

  look(rows, isAll) {
    const before = this.waiting;
    this.waiting = new Set(isAll ? [] : before);
    for (const row of rows) {
      if (row.dataset.state !== "blocked") this.waiting.delete(row.id);
      else {
        this.waiting.add(row.id);
        if (before ? !before.has(row.id) : +row.dataset.since > this.began) this.ring(row);
      }
    }
  }

  ring(row) {
    if (!document.hidden && document.hasFocus()) return;
    const need = row.querySelector(".state").textContent;
    const news = new Notification(row.querySelector("a").textContent, {
      body: need.charAt(0).toUpperCase() + need.slice(1), tag: row.id, icon: "/static/icon.svg",
    });
    news.onclick = () => { focus(); location.href = `/s/${row.id.slice(2)}`; };
  }
}

const bell = window.Notification && !$("door") ? new Bell() : null;

function newsButton() {
  if (!bell) return;
  const button = make("button", "Notify me", { id: "news", type: "button" });
  button.title = "Tell me when a session waits for me, as long as a page of katod is open";
  const show = () => button.setAttribute("aria-pressed", wantsNews());
  button.onclick = async () => {
    const on = !wantsNews() && (await Notification.requestPermission()) === "granted";
    kept("katod-news", on ? "1" : "0");
    show();
    bell.turn();
  };
  show();
  $("tools").append(button);
}

// -- the list -------------------------------------------------------------------------------------------------

customElements.define("katod-board", class extends HTMLElement {
  connectedCallback() {
    newsButton();
    this.stream = new Stream(this.dataset.live, this.dataset.last, {
      all: (html) => { const at = here(); $("groups").innerHTML = html; at && $(at)?.querySelector("a")?.focus(); this.count(); },
      rows: (told) => this.take(told),
    });
    this.count();
  }

  take({ rows, gone }) {
    for (const name of gone) $(`s-${name}`)?.remove();
    for (const html of rows) {
      const row = rowsOf(html).firstElementChild;
      const list = $(`g-${row.dataset.group}`)?.querySelector(".rows");
      if (!list) { this.stream.restart(); return; } // the first session of a project
      this.place(row, $(row.id), list);
    }
    this.count();
  }

  place(row, before, list) {
    const focused = before?.contains(document.activeElement);
    const next = [...list.children].find((one) => one !== before && +one.dataset.since < +row.dataset.since);
    if (row.dataset.state === "blocked" && before?.dataset.state !== "blocked") {
      say(`${row.querySelector("a").textContent} ${row.querySelector(".state").textContent}`);
    }
    before?.remove();
    list.insertBefore(row, next?.isConnected ? next : null);
    if (focused) row.querySelector("a").focus();
  }

  count() {
    const waiting = this.querySelectorAll(".row[data-state=blocked]").length;
    document.title = (waiting ? `(${waiting}) ` : "") + "Sessions · katod";
    tellTimes();
  }
});

const here = () => document.activeElement?.closest?.(".row")?.id;

// -- a conversation -------------------------------------------------------------------------------------------

const entry = () => `${location.pathname} ${window.navigation?.currentEntry?.key}`; // of the history
const edge = () => Math.max($("bar").getBoundingClientRect().bottom, 0); // what is above it is not seen

customElements.define("katod-feed", class extends HTMLElement {
  connectedCallback() {
    this.log = $("log");
    this.fresh = 0;
    this.shown = {};
    this.button = make("button", "", { id: "new", type: "button", hidden: true });
    this.button.onclick = () => this.toEnd();
    document.body.append(this.button);
    const left = this.left();
    if (left?.id) this.goBack(left);
    else if (!left) this.aim();
    this.sticks = !this.target && (Boolean(left || $("main").dataset.awake) || this.isAtEnd());
    addEventListener("pagehide", () => this.leave(entry()));
    addEventListener("submit", (event) => event.target.matches("#more [method=post]") && this.leave(location.pathname));
    history.scrollRestoration = "manual"; // until somebody goes on: a browser would go to where the pixels were
    addEventListener("scroll", () => this.look(), { passive: true });
    addEventListener("hashchange", () => this.aim());
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      addEventListener(kind, () => { this.target = null; history.scrollRestoration = "auto"; }, { passive: true });
    }
    new ResizeObserver(() => this.stay()).observe($("main"));
    this.stay();
    this.stream = new Stream(this.dataset.live, this.dataset.last, {
      message: (html) => this.add(html),
      held: (html) => { $("held").innerHTML = html; },
      about: (told) => this.about(told),
      lost: () => this.reload(),
      gone: () => location.replace(location.pathname), // it is served no longer, and nothing of it is to be seen
    });
    this.follow();
  }

  // A link leads to a message, and stays there until somebody goes elsewhere: heights are guesses until they are drawn.
  aim() {
    this.target = location.hash ? $(location.hash.slice(1)) : null; // a browser knows it as :target only later
    this.top = null;
    const section = this.target?.closest(".e");
    if (section && !section.matches(".said")) for (const one of section.querySelectorAll(":scope>details")) one.open = true;
    this.stay();
  }

  stay() {
    if (!this.target) this.sticks && this.toEnd();
    else if (this.top === null) this.target.scrollIntoView({ block: "start" });
    else {
      const { top, height } = this.target.getBoundingClientRect();
      scrollBy(0, top - Math.max(this.top, edge() + 1 - height));
    }
  }

  // Keeps where somebody reads: at the end, or a message and where it is in the window.
  leave(name) {
    const top = edge();
    const at = !this.sticks && [...this.log.children].find((one) => one.getBoundingClientRect().bottom > top);
    const place = at ? { id: at.id, top: at.getBoundingClientRect().top } : {};
    sessionStorage.setItem(`place ${name}`, JSON.stringify(place));
  }

  // Where this page was left, if it is loaded again, gone back to, or shown after a form of its menu.
  left() {
    const isLink = performance.getEntriesByType("navigation")[0].type === "navigate";
    const name = `place ${isLink ? location.pathname : entry()}`;
    const place = isLink && location.hash ? null : JSON.parse(sessionStorage.getItem(name));
    if (isLink) sessionStorage.removeItem(name);
    return place?.id && !$(place.id) ? null : place;
  }

  goBack({ id, top }) {
    this.target = $(id);
    this.top = top;
    this.target.classList.add("whole"); // else its height is a guess until it is seen
    this.stay();
  }

  add(html) {
    $("held").textContent = "";
    this.log.insertAdjacentHTML("beforeend", html);
    const added = this.log.lastElementChild;
    this.prompt(added);
    dress(added);
    if (this.sticks) this.toEnd();
    else if (added.matches(".said")) this.tell(this.fresh + 1);
  }

  // The session was rewritten. At most one reload a minute, in case that never ends.
  reload() {
    const before = Number(sessionStorage.getItem(location.pathname));
    sessionStorage.setItem(location.pathname, Date.now());
    if (Date.now() - before > 60000) location.reload();
    else say("The agent rewrote this session. Reload the page to see it as it is now.");
  }

  prompt(added) {
    for (const heading of added.querySelectorAll("h2.person[id]")) {
      const item = document.createElement("li");
      const typed = added.querySelector(".typed .plain") ?? added.querySelector(".typed");
      const words = typed?.textContent.split("\n")[0] ?? heading.textContent;
      item.append(make("a", words.slice(0, 80), { href: `#${heading.id}` }));
      const nav = document.querySelector("nav");
      nav?.querySelector("ol").append(item);
      nav?.removeAttribute("hidden");
    }
  }

  about({ html, recorded, own, title, state, need }) {
    if (state !== this.state && this.state !== undefined) say(need || state);
    this.state = state;
    $("about").innerHTML = html;
    this.switch("recorded", recorded);
    this.switch("own", own);
    $("main").dataset.awake = ["working", "blocked", "stalled"].includes(state) ? "1" : "";
    if (title) {
      document.querySelector("#main>h1").textContent = title;
      document.title = (state === "blocked" ? "● " : "") + `${title} · katod`;
    }
    tellTimes();
  }

  // What somebody is about to press stays as it is, unless it changes; what is being typed stays in any case.
  switch(place, html) {
    if (this.shown[place] === html) return;
    this.shown[place] = html;
    const at = document.activeElement;
    const typed = [...$(place).querySelectorAll("input")].filter((one) => one === at || one.value !== one.defaultValue);
    $(place).innerHTML = html;
    for (const one of typed) {
      const now = $(place).querySelector(`[name=${one.name}]`);
      one.defaultValue = now.defaultValue;
      now.replaceWith(one);
      if (one === at) one.focus();
    }
  }

  offer() {
    this.button.hidden = false;
    this.button.textContent = this.fresh ? `${this.fresh} new ↓` : "↓";
    this.button.title = "To the end";
    this.button.classList.toggle("fresh", this.fresh > 0);
  }

  tell(count) {
    this.fresh = count;
    if (count) this.offer();
    else this.button.hidden = true;
    if (count) say(`${count} new ${count > 1 ? "messages" : "message"}`);
  }

  look() {
    this.sticks = !this.target && this.isAtEnd();
    if (this.sticks) this.tell(0);
    else this.offer();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.follow(), 80);
  }

  isAtEnd() {
    return document.documentElement.scrollHeight - innerHeight - scrollY < 80;
  }

  follow() {
    const links = [...document.querySelectorAll("nav a[href^='#m']")];
    const passed = links.filter((link) => $(link.hash.slice(1))?.getBoundingClientRect().top < innerHeight / 3);
    const current = passed.at(-1);
    for (const link of links) link.classList.toggle("here", link === current);
  }

  toEnd() {
    this.target = null;
    this.sticks = true;
    scrollTo(0, document.documentElement.scrollHeight);
    this.tell(0);
  }
});

// Adds what a message can be copied with.
function dress(section) {
  const link = section.matches(".said") && section.querySelector(":scope>.at");
  if (!link || section.querySelector(":scope>.acts")) return;
  const copy = make("button", "Copy", { type: "button", title: "Copy this message as Markdown" });
  copy.onclick = () => copyFrom(copy, () => read(`${location.pathname}/markdown?only=${section.id}`));
  const acts = make("span", "", { className: "acts" });
  const record = make("a", "Record", { href: `${location.pathname}/record?only=${section.id}` });
  record.title = "The record in the agent's file, with secrets removed";
  acts.append(copy, record);
  if (section.querySelector(":scope>.person")) acts.append(keeping(section.id));
  section.append(acts);
}

// Writes an exchange to a file: a question, and what follows until the next one.
function keeping(id) {
  const form = make("form", "", { method: "post", action: `${location.pathname}/keep` });
  const button = make("button", "Keep", { name: "question", value: id });
  button.title = "Write this question, with everything up to the answer, to a file";
  form.append(button);
  return form;
}

// Buttons are made when somebody comes near: a page of a long conversation would have thousands.
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const section = event.target.closest?.("#log>.e");
    if (section) dress(section);
  });
}

// -- copying --------------------------------------------------------------------------------------------------

async function read(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(answer.status);
  return answer.text();
}

// Without the final newline: pasted in a terminal, it would send what was pasted.
async function copyFrom(button, text) {
  const words = button.textContent;
  try {
    await navigator.clipboard.write([new ClipboardItem({
      "text/plain": Promise.resolve(text()).then((copied) => new Blob([copied.trimEnd()], { type: "text/plain" })),
    })]);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  say(button.textContent);
  setTimeout(() => { button.textContent = words; }, 1500);
}

customElements.define("katod-copy", class extends HTMLElement {
  connectedCallback() {
    const button = make("button", this.dataset.label, { type: "button" });
    const { from } = this.dataset;
    button.onclick = () => copyFrom(button, () => (from ? read(from) : this.querySelector("code").textContent));
    this.append(button);
  }
});

// -- keys -----------------------------------------------------------------------------------------------------

const places = () => [...document.querySelectorAll(".row>a,.result li a,.file>summary,#log>.said")];
const prompts = () => [...document.querySelectorAll("#log>.said")].filter((one) => one.querySelector("h2.person"));

function step(by, all) {
  const log = $("log");
  const at = all.indexOf(log ? log.querySelector(".e.here") : document.activeElement);
  const top = innerHeight / 4;
  const near = by > 0
    ? all.findIndex((one) => one.getBoundingClientRect().top > top)
    : all.findLastIndex((one) => one.getBoundingClientRect().top < 0);
  const next = all[at < 0 && log ? near : Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next) return;
  if (!next.matches("#log>.e")) { next.focus(); return; }
  for (const one of document.querySelectorAll(".e.here")) one.classList.remove("here");
  next.classList.add("here");
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
}

const follow = (link) => { if (link) location.href = link.href; };

const KEYS = {
  j: () => step(1, places()),
  k: () => step(-1, places()),
  n: () => step(1, prompts()),
  p: () => step(-1, prompts()),
  f: () => { if ($("more")) { $("more").open = true; $("more").querySelector("[name=q]").focus(); } },
  "[": () => follow(document.querySelector("#more [rel=prev]")),
  "]": () => follow(document.querySelector("#more [rel=next]")),
  "/": () => $("find").querySelector("input").select(),
  "?": () => $("keys").showModal(),
  g: () => scrollTo(0, 0),
  G: () => (document.querySelector("katod-feed")?.toEnd() ?? scrollTo(0, document.documentElement.scrollHeight)),
  t: () => $("thinking")?.click(),
  u: () => { location.href = "/"; },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input:not([type=checkbox]),textarea,select,dialog");
  if (event.key === "Escape") {
    if ($("more")?.open) {
      $("more").open = false;
      $("more").querySelector("summary").focus();
    } else if (typing) event.target.blur();
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
});

// The menu closes when somebody turns to something else.
for (const kind of ["click", "focusin"]) {
  document.addEventListener(kind, (event) => {
    if (!event.target.closest("#more")) $("more")?.removeAttribute("open");
  });
}

// -- the beginning --------------------------------------------------------------------------------------------

const onward = $("onward");
if (onward) {
  // Asked for by a page of this server, it comes with the cookie. From the same address, only a place in it would be.
  const to = onward.getAttribute("href") + location.hash;
  history.replaceState(null, "", "/login");
  location.replace(to);
}
const token = !onward && /^#token=([\w-]+)$/.exec(location.hash);
if (token) {
  history.replaceState(null, "", location.pathname);
  if ($("door")) {
    $("token").value = token[1];
    $("door").submit();
  }
}
// A link to a message leads there after the token was given, too.
if ($("door") && !token) $("door").action += location.hash;
const thinking = $("thinking");
if (thinking) {
  thinking.checked = kept("katod-thinking") === "1";
  thinking.onchange = () => kept("katod-thinking", thinking.checked ? "1" : "0");
}
tellTimes();
setInterval(tellTimes, 15000);
