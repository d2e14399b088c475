// Talking with the server: requests, the time, and what changes.
const CAMPAIGN = location.pathname.split("/").pop();
const PATH = `/v1/campaigns/${CAMPAIGN}`;
const TOKEN = `firstcome-token-${CAMPAIGN}`;
const PENDING = `firstcome-pending-${CAMPAIGN}`;
const PUBLIC = document.documentElement.dataset.public === "yes";

// The token comes behind the # of the shop's link. It stays in this tab, and leaves the address.
let token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  keep(forTab, TOKEN, token);
  // Where nothing can be kept it stays in the address, so that loading the page again finds it.
  if (kept(forTab, TOKEN) === token) history.replaceState(null, "", location.pathname + location.search);
} else {
  token = kept(forTab, TOKEN);
}

// Whom the token is for: the server checks its signature, the page only shows the name.
function subjectOf(token) {
  try {
    const bytes = Uint8Array.from(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), c => c.charCodeAt(0));
    return String(JSON.parse(new TextDecoder().decode(bytes)).sub);
  } catch {
    return null;
  }
}

let subject = token && subjectOf(token);
const SUBJECT = () => encodeURIComponent(subject);

function forgetToken() {
  token = subject = null;
  keep(forTab, TOKEN, null);
}

// Asks once; the path is that below the server, which may be at a path of a shop. Gives the status and the document; throws where no answer came.
async function ask(method, path, body, id) {
  const headers = {};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  if (id) headers["idempotency-key"] = id;
  const sent = performance.now();
  const answer = await fetch(`..${path}`, { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(8000) });
  const document = await answer.json();
  if (document.now) clock.learn(Date.parse(document.now), sent);
  return { ok: answer.ok, status: answer.status, document, after: Number(answer.headers.get("retry-after")) * 1000 };
}

// Sends a command until it is known what came of it. Each has its own identity, so it happens once however often it is sent.
async function sure(method, path, body, id, checking) {
  for (let wait = 300, tries = 0; ; wait = Math.min(wait * 1.7, 5000), tries++) {
    let answer;
    try {
      answer = await ask(method, path, body, id);
    } catch {
      checking();
      await backOff(wait);
      continue;
    }
    const { outcome, retry, changed } = answer.document;
    if (answer.ok || changed === "yes") return answer;
    const early = outcome === "not_open" && clock.now() > Date.parse(answer.document.opens_at) - 2000;
    if (changed === "unknown" || outcome === "unknown") checking();
    else if (early ? tries > 20 : !(retry && answer.status >= 429 && outcome !== "sold_out" && tries < 8)) return answer;
    await backOff(early ? random(40, 120) : Math.max(wait * random(0.8, 1.2), answer.after || 0));
  }
}

// The server's clock. An answer says its time: the clock is at least that far when the answer is here, however it was cached.
const clock = {
  least: -Infinity, way: Infinity, drift: null,
  learn(now, sent) {
    const here = performance.now();
    // Who slept, or set the clock of the device, measures anew.
    const drift = Date.now() - here;
    if (this.drift !== null && Math.abs(drift - this.drift) > 1000) [this.least, this.way] = [-Infinity, Infinity];
    this.drift = drift;
    this.least = Math.max(this.least, now - here);
    this.way = Math.min(this.way, here - sent);
  },
  // Half of the fastest round trip is what an answer needs to come here.
  now() {
    const measured = Number.isFinite(this.least);
    return measured ? this.least + Math.min(this.way / 2, 500) + performance.now() : Date.now();
  },
};

// A page that nobody sees has no stream: a browser opens only a few connections to a server, over all tabs.
let closeStream = () => {};
let isAway = false;
addEventListener("pagehide", () => { isAway = true; closeStream(); });
addEventListener("pageshow", () => { isAway = false; });
document.addEventListener("visibilitychange", () => setTimeout(() => document.hidden && closeStream(), 5000));

// Follows the events for as long as `wanted` says so. `heard` gets each event; `state` is told how it stands.
async function follow(wanted, last, heard, told) {
  for (let fails = 0; ; ) {
    if (isAway || !wanted()) {
      await pause(500);
      continue;
    }
    const ending = new AbortController();
    closeStream = () => ending.abort();
    try {
      const headers = { accept: "text/event-stream" };
      if (token) headers.authorization = `Bearer ${token}`;
      if (last()) headers["last-event-id"] = last();
      const answer = await fetch(`..${PATH}/events`, { headers, cache: "no-store", signal: ending.signal });
      if (!answer.ok) {
        const problem = await answer.json();
        told(problem.outcome);
        // As many streams are open as may be: the page asks every few seconds instead.
        await pause(problem.outcome === "too_many_streams" ? random(20000, 40000) : random(2000, 5000));
        continue;
      }
      fails = 0;
      told("live");
      await readEvents(answer, heard, () => ending.abort());
      told("again");
      await backOff(random(500, 1500));
    } catch {
      if (ending.signal.aborted) {
        told("again");
        continue;
      }
      told("lost");
      fails++;
      await backOff(Math.min(500 * 2 ** fails, 8000) * random(0.7, 1.3));
    }
  }
}
