// All campaigns with their counts, and one campaign: how it stands, its buttons, its acts.
const path = name => `/v1/campaigns/${encodeURIComponent(name)}`;
const link = (name, part = "") => `#/c/${encodeURIComponent(name)}${part}`;
const shortTime = text => text ? new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(text)) : "–";
const exactTime = text => new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "medium" }).format(new Date(text));
const sum = (pools, of) => pools.reduce((all, pool) => all + (of(pool) ?? 0), 0);
const word = (group, name) => WORDS[language][group][name] ?? name;
const chip = state => make("span", { class: `state ${state}` }, word("states", state));
const standing = one => ({
  capacity: sum(one.pools, pool => pool.capacity), claims: sum(one.pools, pool => pool.last_rank - pool.cancelled),
  held: sum(one.pools, pool => pool.held), waiting: sum(one.pools, pool => pool.waiting), blocked: sum(one.pools, pool => pool.blocked),
});

// Makes a table; each cell says its heading, so that a phone shows it as a card.
function table(heads, rows, stack = true) {
  const cell = (value, nth) => make("td", { class: heads[nth][1] ? "n" : null, "data-head": heads[nth][0] }, value ?? "");
  return make("div", { class: "wide", tabindex: stack ? null : "0" }, make("table", { class: stack ? "stack" : null },
    make("thead", {}, make("tr", {}, ...heads.map(([head, right]) => head ? make("th", { class: right ? "n" : null, scope: "col" }, head) : make("td")))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(cell))))));
}

// Reads the campaigns, the newest first: where there are more than 1,000, the first ones by name.
async function newestCampaigns() {
  const { campaigns, next } = await read("/v1/campaigns?limit=1000");
  return { campaigns: campaigns.sort((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at)), more: next !== null };
}

function campaignsView() {
  const list = make("div", { class: "card" }, say("loading"));
  const head = make("div", { class: "head" }, make("h1", {}, say("campaigns")),
    mayOperate() && make("div", { class: "row" }, make("a", { class: "button", href: "#/new" }, say("newCampaign"))));
  return {
    title: say("campaigns"), content: [head, list], every: 2000,
    async refresh() {
      const { campaigns, more } = await newestCampaigns();
      const rows = campaigns.slice(0, 500).map(one => ({ one, ...standing(one) }));
      const from = rows.map(({ one, ...counts }) => [one.campaign, one.title, one.state, one.left, one.opens_at, counts]);
      fill(list, [from, more], () => rows.length === 0 ? [make("p", {}, say("none"))] : [more ? make("p", {}, say("moreCampaigns")) : "", table(
        [[say("campaign")], [say("state")], [say("left"), true], [say("claims"), true], [say("held"), true], [say("waiting"), true], [say("opening")]],
        rows.map(({ one, capacity, claims, held, waiting }) => [
          make("span", {}, make("a", { href: link(one.campaign) }, one.title || one.campaign), one.title ? make("span", { class: "soft" }, ` ${one.campaign}`) : null),
          chip(one.state), say("of", { left: number(one.left), all: number(capacity) }), number(claims), number(held), number(waiting), shortTime(one.opens_at),
        ]))]);
    },
  };
}

// What all views of one campaign have above them.
function campaignHead(name, current) {
  const title = make("h1", {}, name), state = make("span"), buttons = make("div", { class: "row" });
  const tabs = make("nav", { class: "tabs", "aria-label": name });
  const content = [make("div", { class: "head" }, title, state, buttons), tabs];
  const steer = (verb, one) => askAndAct({
    title: say(`ask${verb[0].toUpperCase()}${verb.slice(1)}`, { name: one.title || name }), text: say(`ask${verb[0].toUpperCase()}${verb.slice(1)}Text`),
    what: say(verb), method: "POST", path: `${path(name)}/${verb}`,
  }).then(refreshNow);
  const show = one => {
    set(title, one.title || name);
    fill(state, one.state, () => [chip(one.state)]);
    const seated = one.pools.some(pool => pool.kind === "seated");
    fill(tabs, [seated, current, mayOperate(name)], () => [["", "overview"], seated && ["/seats", "seats"], ["/results", "results"], mayOperate(name) && ["/acts", "acts"], mayOperate(name) && ["/change", "change"]]
      .filter(Boolean).map(([part, text]) => make("a", { href: link(name, part), "aria-current": current === part ? "page" : null }, say(text))));
    fill(buttons, [one.state, mayOperate(name)], () => !mayOperate(name) ? [] : [
      ["open", "scheduled", "draft"].includes(one.state) && make("button", { type: "button", id: "pause", onclick: () => steer("pause", one) }, say("pause")),
      one.state === "paused" && make("button", { type: "button", id: "resume", onclick: () => steer("resume", one) }, say("resume")),
      one.state !== "closed" && make("button", { type: "button", id: "close", class: "danger", onclick: () => steer("close", one) }, say("close")),
    ].filter(Boolean));
  };
  return { content, show };
}

function overviewView(name) {
  const head = campaignHead(name, "");
  const numbers = make("dl", { class: "numbers" }), pools = make("section", { class: "card" }), pictures = minutePictures(name);
  const raise = (one, pool) => askAndAct({
    title: say("askRaise", { pool: pool.name }), text: say("askRaiseText", { now: number(pool.capacity) }),
    field: { label: say("capacity"), type: "number", value: pool.capacity, min: 1, max: 4294967294 }, what: say("capacity"), method: "PUT", path: path(name), match: `"${one.version}"`,
    body: typed => { const request = requestOf(one); request.pools.find(other => other.name === pool.name).capacity = Number(typed); return request; },
  }).then(refreshNow);
  return {
    title: name, content: [...head.content, numbers, mayOperate(name) ? pictures.element : null, pools].filter(Boolean), every: 1000,
    async refresh() {
      const one = await read(path(name));
      const counts = standing(one);
      head.show(one);
      fill(numbers, [one.left, counts, one.unsettled], () => [["left", one.left], ["claims", counts.claims], ["held", counts.held], ["waiting", counts.waiting], ["blocked", counts.blocked], ["unsettled", one.unsettled]]
        .map(([text, value]) => make("div", {}, make("dt", {}, say(text)), make("dd", { id: `n-${text}` }, number(value ?? 0)))));
      fill(pools, one, () => [make("h2", {}, say("pools")), table(
        [[say("pool")], [say("kind")], [say("left"), true], [say("claims"), true], [say("held"), true], [say("waiting"), true], [""]],
        one.pools.map(pool => [pool.name, word("poolKinds", pool.kind), say("of", { left: number(pool.left), all: number(pool.capacity) }), number(pool.last_rank - pool.cancelled), number(pool.held), number(pool.waiting),
          mayOperate(name) && one.state !== "closed" && pool.kind !== "seated" && pool.codes?.source !== "imported" ? make("button", { type: "button", class: "plain raise", onclick: () => raise(one, pool) }, say("raise")) : "",
        ])), make("p", { class: "soft" }, `${say("opening")}: ${shortTime(one.opens_at)} · ${say("closes")}: ${one.closes_at ? shortTime(one.closes_at) : say("never")} · `, make("a", { href: `c/${encodeURIComponent(name)}`, target: "_blank", rel: "noopener" }, say("page")))]);
      if (mayOperate(name)) await pictures.refresh();
    },
  };
}

function actsView(name) {
  const head = campaignHead(name, "/acts"), list = make("section", { class: "card" });
  return {
    title: `${name} · ${say("acts")}`, content: [...head.content, list], every: 2000,
    async refresh() {
      head.show(await read(path(name)));
      const { acts } = await read(`${path(name)}/acts`);
      fill(list, [acts[0]?.number], () => [make("p", { class: "soft" }, say("actsNote")), acts.length === 0 ? make("p", {}, say("actsNone")) : table(
        [[say("when")], [say("who")], [say("what")], [say("about")], [say("reason")], [say("outcome")]],
        acts.map(one => [exactTime(one.at), one.who, word("deeds", one.act), one.about || "–", one.reason || "–", one.outcome]))]);
    },
  };
}
