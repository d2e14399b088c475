// What the page does beside its seats: claims, waitlists and codes.
const CAMPAIGN = location.pathname.split("/").pop();
const TOKEN = `firstcome-token-${CAMPAIGN}`;
const codes = new Map();
let isBusy = false, isFetching = false;

// The token comes behind the # of the shop's link. It stays in this tab, and leaves the address.
function findToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return kept(forTab, TOKEN);
  keep(forTab, TOKEN, given);
  // Where nothing can be kept it stays in the address, so that loading the page again finds it.
  if (kept(forTab, TOKEN) === given) history.replaceState(null, "", location.pathname + location.search);
  return given;
}

const isPublic = document.documentElement.dataset.public === "yes";
const session = new Session(
  { server: "..", name: CAMPAIGN, token: findToken(), isPublic },
  { changed: render, tookOwn: loadCodes, forgot: () => keep(forTab, TOKEN, null) },
);
const hall = new SeatPanel(at("hall"), session, { payLink: shopLink });

// Fetches the codes of claims: a stream never has them.
async function loadCodes() {
  const coded = claim => session.campaign?.pools.find(pool => pool.name === claim.pool)?.kind === "coded";
  const missing = claim => coded(claim) && !claim.cancelled && !codes.has(`${claim.pool} ${claim.rank}`);
  if (!session.own.claims.some(missing) || isFetching) return;
  isFetching = true;
  try {
    for (let after = 0; after !== null;) {
      const { ok, document } = await session.ask("GET", `${session.path}/claims/${encodeURIComponent(session.subject)}?after=${after}`);
      for (const claim of ok ? document.claims : []) if (claim.code) codes.set(`${claim.pool} ${claim.rank}`, claim.code);
      after = ok ? document.next : null;
    }
  } catch { /* with the next event */ }
  isFetching = false;
  render();
}

async function claim(pool, wait) {
  if (isBusy) return;
  isBusy = true;
  session.problem = null;
  render();
  await answered(await session.command(`${session.path}/claims`, { pool, ...(wait && { wait: true }) }));
}

async function answered({ ok, document }) {
  isBusy = false;
  const { outcome, pool, rank } = document;
  const known = session.own.claims.some(one => one.pool === pool && one.rank === rank);
  if (ok && (outcome === "won" || outcome === "already_won") && !known) {
    if (document.code) codes.set(`${pool} ${rank}`, document.code);
    session.own.claims.unshift({ pool, rank, at: document.at });
  }
  if (outcome === "waitlisted") notePlace({ ...document, state: "waits" });
  if (outcome === "offered") notePlace({ ...document, pool: document.units[0].pool, state: "offered", quantity: document.units.length });
  if (!ok && outcome !== "already_won") session.problem = outcome === "sold_out" ? null : refusal(document);
  if (outcome === "sold_out") session.campaign.pools.forEach(one => { if (one.name === (pool ?? one.name) && session.campaign.pools.length === 1) one.left = 0; });
  render();
  if (session.link !== "live") await session.loadCampaign().catch(() => {});
  if (ok) await session.catchUp(document.position);
  render();
}

function notePlace(place) {
  session.own.places = [...session.own.places.filter(one => one.pool !== place.pool), place];
}

async function leave(pool) {
  const path = `${session.path}/waitlist/${encodeURIComponent(session.subject)}?pool=${encodeURIComponent(pool)}`;
  const answer = await session.sure("DELETE", path, undefined, newId());
  session.checking = false;
  if (!answer.ok) session.problem = refusal(answer.document);
  await session.catchUp(answer.document.position);
  render();
}

// A command whose answer did not come before the page was loaded again is sent once more.
async function resume() {
  const pending = session.pending();
  if (!pending) return;
  if (!pending.path.endsWith("/claims")) return hall.send(pending.path, pending.body, pending.id);
  isBusy = session.checking = true;
  render();
  await answered(await session.command(pending.path, pending.body, pending.id));
}

at("language").onclick = () => {
  language = say("languageCode");
  keep(forBrowser, LANGUAGE, language);
  render();
};

// Nothing is asked that could only be refused.
if (!session.token && !isPublic) session.gone = "noAccess";
render();
if (!session.gone) {
  session.start();
  resume();
  setInterval(renderTime, 250);
}
