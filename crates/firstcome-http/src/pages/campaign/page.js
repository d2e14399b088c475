// What the page knows, and what it does.
const state = {
  campaign: null, own: { claims: [], holds: [], places: [], position: null }, codes: new Map(), pool: null,
  phase: "checking", link: "polling", checking: false, busy: false, problem: null, gone: null,
};
// Who was here before the opening does not open a stream at the same instant as everybody else.
const late = random(0, 3000);
let wasEarly = false;

// The state of the campaign by the server's clock, which may be ahead of the last answer.
function phase() {
  const { campaign } = state;
  if (!campaign) return "checking";
  if (campaign.state === "scheduled" && clock.now() >= Date.parse(campaign.opens_at)) return "open";
  if (campaign.state === "open" && campaign.closes_at && clock.now() >= Date.parse(campaign.closes_at)) return "closed";
  return campaign.state;
}

const chosenPool = () => state.campaign?.pools.find(pool => pool.name === state.pool) ?? state.campaign?.pools[0];
const canAct = () => Boolean(subject) && state.phase === "open" && !state.gone && isKnown();
// Whether it is known what the subject has: before, nothing is offered that may be hers already.
const isKnown = () => !subject || state.own.position !== null;

function choose(pool) {
  state.pool = pool;
  state.problem = null;
  if (chosenPool()?.kind === "seated") hall.load(chosenPool().name);
  render();
}

// Takes a document of the campaign, unless a later one is known.
function take(document) {
  if (state.campaign && !isLater(document.position, state.campaign.position) && document.position !== state.campaign.position) return;
  state.campaign = document;
  wasEarly ||= document.state === "scheduled";
  // Before the opening nobody has anything.
  if (["draft", "scheduled"].includes(document.state)) state.own.position ??= document.position;
  const pool = chosenPool();
  if (pool?.kind === "seated" && hall.pool !== pool.name) hall.load(pool.name);
}

async function loadCampaign() {
  const { ok, status, document } = await ask("GET", PATH);
  if (ok) { take(document); return; }
  if (status === 404) { state.gone = "notFound"; return; }
  if (status !== 401 && status !== 403) return;
  forgetToken();
  if (PUBLIC) return loadCampaign();
  state.gone = "ended";
}

// Takes what the subject has: all of it with `whole`, else of the claims those that are new or changed.
function takeOwn({ claims, holds, places, position, whole, more }) {
  if (state.own.position && isLater(state.own.position, position)) return;
  const known = new Map((whole ? [] : state.own.claims).concat(claims).map(claim => [`${claim.pool} ${claim.rank}`, claim]));
  const order = claim => state.campaign?.pools.findIndex(pool => pool.name === claim.pool) ?? 0;
  const all = [...known.values()].sort((one, other) => order(one) - order(other) || other.rank - one.rank);
  state.own = { claims: all, holds, places, position: more ? state.own.position : position };
  hall.noteHolds();
  loadCodes();
}

// Fetches what the subject has, where no stream says it.
async function loadOwn() {
  const { ok, document: has } = await ask("GET", `/v1/subjects/${SUBJECT()}?campaign=${CAMPAIGN}`);
  if (!ok) return;
  const own = has.campaigns.find(one => one.campaign === CAMPAIGN) ?? { claims: [], holds: [] };
  for (let after = own.next ?? null, pages = 0; after !== null && pages < 100; pages++) {
    const { ok, document: page } = await ask("GET", `${PATH}/claims/${SUBJECT()}?after=${after}`);
    if (!ok) return;
    own.claims.push(...page.claims);
    after = page.next;
  }
  const places = [];
  for (const pool of state.campaign.pools) {
    const waits = state.own.places.some(place => place.pool === pool.name) || pool.waiting > 0 || own.holds.some(hold => hold.offer && hold.units.some(unit => unit.pool === pool.name));
    if (!waits) continue;
    const { ok, document: place } = await ask("GET", `${PATH}/waitlist/${SUBJECT()}?pool=${pool.name}`);
    if (ok) places.push(place);
  }
  takeOwn({ claims: own.claims, holds: own.holds, places, position: has.position, whole: true });
}

// Fetches the codes of claims: a stream never has them.
async function loadCodes() {
  const coded = claim => state.campaign?.pools.find(pool => pool.name === claim.pool)?.kind === "coded";
  const missing = claim => coded(claim) && !claim.cancelled && !state.codes.has(`${claim.pool} ${claim.rank}`);
  if (!state.own.claims.some(missing) || state.fetching) return;
  state.fetching = true;
  try {
    for (let after = 0; after !== null;) {
      const { ok, document } = await ask("GET", `${PATH}/claims/${SUBJECT()}?after=${after}`);
      for (const claim of ok ? document.claims : []) if (claim.code) state.codes.set(`${claim.pool} ${claim.rank}`, claim.code);
      after = ok ? document.next : null;
    }
  } catch { /* with the next event */ }
  state.fetching = false;
  render();
}

// Sends a command that is remembered until its answer is there, so that a page which is loaded again sends it again.
async function command(path, body, id) {
  const checking = () => { state.checking = true; render(); };
  keep(forTab, PENDING, JSON.stringify({ path, body, id }));
  try {
    return await sure("POST", path, body, id, checking);
  } finally {
    keep(forTab, PENDING, null);
    state.checking = false;
  }
}

// Waits until what the subject has is known as of a position.
async function catchUp(position) {
  for (let tries = 0; tries < 12 && state.link === "live" && position; tries++) {
    if (state.own.position && !isLater(position, state.own.position)) return;
    await pause(100);
  }
  await loadOwn().catch(() => {});
}

let caughtUp = 0;
function catchUpSoon() {
  if (performance.now() - caughtUp < 3000) return;
  caughtUp = performance.now();
  loadOwn().then(render).catch(() => {});
}

async function claim(pool, wait) {
  if (state.busy) return;
  Object.assign(state, { busy: true, problem: null });
  render();
  await answered(await command(`${PATH}/claims`, { pool, ...(wait && { wait: true }) }));
}

async function answered({ ok, document }) {
  state.busy = false;
  const { outcome, pool, rank } = document;
  const known = state.own.claims.some(one => one.pool === pool && one.rank === rank);
  if (ok && (outcome === "won" || outcome === "already_won") && !known) {
    if (document.code) state.codes.set(`${pool} ${rank}`, document.code);
    state.own.claims.unshift({ pool, rank, at: document.at });
  }
  if (outcome === "waitlisted") notePlace({ ...document, state: "waits" });
  if (outcome === "offered") notePlace({ ...document, pool: document.units[0].pool, state: "offered", quantity: document.units.length });
  if (!ok && outcome !== "already_won") state.problem = outcome === "sold_out" ? null : refusal(document);
  if (outcome === "sold_out") state.campaign.pools.forEach(one => { if (one.name === (pool ?? one.name) && state.campaign.pools.length === 1) one.left = 0; });
  render();
  if (state.link !== "live") await loadCampaign().catch(() => {});
  if (ok) await catchUp(document.position);
  render();
}

function notePlace(place) {
  state.own.places = [...state.own.places.filter(one => one.pool !== place.pool), place];
}

async function leave(pool) {
  const path = `${PATH}/waitlist/${SUBJECT()}?pool=${encodeURIComponent(pool)}`;
  const answer = await sure("DELETE", path, undefined, newId(), () => {});
  if (!answer.ok) state.problem = refusal(answer.document);
  await catchUp(answer.document.position);
  render();
}

// A command whose answer did not come before the page was loaded again: it is sent once more, and happens once.
async function resume() {
  const pending = JSON.parse(kept(forTab, PENDING) ?? "null");
  if (!pending || !subject) return;
  Object.assign(state, { busy: true, checking: true });
  render();
  const answer = await command(pending.path, pending.body, pending.id);
  if (pending.path.endsWith("/claims")) return answered(answer);
  state.busy = false;
  if (!answer.ok) state.problem = refusal(answer.document);
  await catchUp(answer.document.position);
  render();
}

function heard(event) {
  const data = JSON.parse(event.data);
  if (event.id) last = event.id;
  if (event.name === "own") takeOwn(data);
  if (event.name === "campaign") loadCampaign().then(render).catch(() => {});
  if (event.name === "standing" && isLater(data.position, state.campaign.position)) {
    for (const { pool: name, left, waiting } of data.pools) {
      const pool = state.campaign.pools.find(pool => pool.name === name);
      if (pool) Object.assign(pool, { left, ...(waiting !== undefined && { waiting }) });
    }
    state.campaign.left = state.campaign.pools.reduce((sum, pool) => sum + pool.left, 0);
    state.campaign.position = data.position;
  }
  if (event.name === "standing") hall.apply(data);
  if (event.name === "reset") {
    last = data.position;
    if (isLater(data.position, state.campaign.position)) loadCampaign().then(render).catch(() => {});
    if (hall.pool && (!hall.position || isLater(data.position, hall.position))) hall.load(hall.pool);
  }
  if (event.name === "end") loadCampaign().then(render).catch(() => {});
  render();
}

let last = null;

// A stream is opened where something can change: not before the opening, and not behind other tabs for long.
function wantsStream() {
  if (!state.campaign || state.gone || document.hidden) return false;
  if (!["open", "paused", "closed"].includes(phase())) return false;
  // A map says from where on its changes are wanted.
  if (chosenPool()?.kind === "seated" && !hall.position) return false;
  const opened = Date.parse(state.campaign.opens_at);
  return !wasEarly || clock.now() > opened + late;
}

function told(how) {
  if (how === "live") state.link = "live";
  else if (how === "lost") state.link = "lost";
  else if (how !== "again") {
    state.link = "polling";
    if (!isKnown()) catchUpSoon();
  }
  if (["token_expired", "unauthorized", "forbidden"].includes(how)) loadCampaign().then(render).catch(() => {});
  if (how === "live") state.problem = state.problem === say("lost") ? null : state.problem;
  render();
}

// Asks from time to time: often where no stream is open, seldom where one is.
async function poll() {
  for (;;) {
    let wait = 5000;
    try {
      if (!state.gone) await loadCampaign();
      if (state.link === "lost" && !wantsStream()) state.link = "polling";
      const streams = wantsStream();
      // The stream says it first, if it comes.
      const tells = isKnown() ? state.link === "live" : streams && performance.now() < 3000;
      if (subject && state.campaign && !state.gone && !["draft", "scheduled"].includes(phase()) && !tells) await loadOwn();
      wait = !isKnown() ? 1000 : state.link === "live" ? 45000 : state.campaign?.ask_again_ms ?? 5000;
      if (phase() === "scheduled") wait = Math.min(wait, Date.parse(state.campaign.opens_at) - clock.now() + random(300, 2500));
      else if (streams && state.link !== "live") wait = Math.max(wait, 2500);
    } catch {
      state.link = "lost";
    }
    render();
    await awake(Math.max(wait, 300) * random(0.9, 1.1));
  }
}
// Waits, or until somebody looks at the page again after sleep or another tab.
const awake = ms => Promise.race([pause(ms), new Promise(done => {
  const looked = () => { if (!document.hidden) { document.removeEventListener("visibilitychange", looked); done(); } };
  document.addEventListener("visibilitychange", looked);
  addEventListener("online", done, { once: true });
  addEventListener("pageshow", event => event.persisted && done(), { once: true });
})]);

at("language").onclick = () => {
  language = say("languageCode");
  keep(forBrowser, LANGUAGE, language);
  render();
};

hall.start();
if (!token && !PUBLIC) {
  // Nothing is asked that could only be refused.
  state.gone = "noAccess";
  render();
} else {
  render();
  poll();
  resume();
  follow(wantsStream, () => last ?? hall.position ?? state.campaign?.position, heard, told);
  setInterval(renderTime, 250);
}
