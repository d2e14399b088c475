// Creating and changing a campaign: each choice says what it means, and the opening is shown in several zones.
const ZONES = () => [...new Set([Intl.DateTimeFormat().resolvedOptions().timeZone, "Asia/Seoul", "UTC", "Europe/London", "America/New_York", "America/Los_Angeles"])];

// Gives what a PUT must say to leave a campaign as it is.
function requestOf(one) {
  return {
    title: one.title, opens_at: one.opens_at, closes_at: one.closes_at, limits: one.limits, claim_again: one.claim_again, units_return: one.units_return, public: one.public,
    hold_ttl_ms: one.hold_ttl_ms, hold_max_ms: one.hold_max_ms, holds: one.holds, holds_per_hour: one.holds_per_hour, allow_orphans: one.allow_orphans, ...(one.offer_ms !== undefined && { offer_ms: one.offer_ms }),
    pools: one.pools.map(pool => ({
      name: pool.name, kind: pool.kind, limit: pool.limit ?? null,
      ...(pool.kind !== "seated" && pool.codes?.source !== "imported" && { capacity: pool.capacity }),
      ...(pool.waitlist !== undefined && { waitlist: pool.waitlist }),
      ...(pool.codes && { codes: { source: pool.codes.source, ...(pool.codes.source !== "imported" && pool.codes.key && { key: pool.codes.key }), uses: pool.codes.uses, uses_per_subject: pool.codes.uses_per_subject, valid_until: pool.codes.valid_until, valid_for_ms: pool.codes.valid_for_ms, only_by_holder: pool.codes.only_by_holder } }),
    })),
  };
}

// Gives what a clock in a zone shows at a moment, as `2027-03-01T10:00`.
function localTime(at, zone) {
  const parts = Object.fromEntries(new Intl.DateTimeFormat("en-CA", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" }).formatToParts(at).map(part => [part.type, part.value]));
  return `${parts.year}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}`;
}

// Gives the moment at which a clock in a zone shows this; nothing where it never does, or does twice.
function momentOf(local, zone) {
  const guess = Date.parse(`${local.slice(0, 16)}Z`);
  if (!Number.isFinite(guess)) return null;
  const found = new Set();
  for (let quarter = -60; quarter <= 60; quarter++) {
    const at = guess + quarter * 900000;
    if (localTime(at, zone) === local.slice(0, 16)) found.add(at);
  }
  return found.size === 1 ? [...found][0] : null;
}

function spanText(ms) {
  const [days, hours, minutes] = [Math.floor(ms / 864e5), Math.floor(ms / 36e5) % 24, Math.floor(ms / 6e4) % 60];
  const unit = (value, name) => value ? new Intl.NumberFormat(language, { style: "unit", unit: name, unitDisplay: "long" }).format(value) : "";
  return [unit(days, "day"), unit(hours, "hour"), days ? "" : unit(minutes, "minute") || (hours ? "" : unit(Math.max(1, Math.round(ms / 1000)), "second"))].filter(Boolean).join(" ");
}

let fields = 0;
// Makes a field: what it is called, what it means, and what is typed.
function field(label, note, input) {
  const id = input.id || `field${++fields}`;
  input.id = id;
  const about = make("p", { class: "soft", id: `${id}-note` }, note ?? "");
  if (note) input.setAttribute("aria-describedby", about.id);
  const named = make("label", { for: id }, label);
  if (input.type === "checkbox") return make("div", { class: "field" }, make("label", { for: id }, input, label), note ? about : null);
  return make("div", { class: "field" }, named, note ? about : null, input);
}

const typed = (id, type, value, more = {}) => {
  const input = make("input", { id, type, autocomplete: "off", ...more });
  if (type === "checkbox") input.checked = Boolean(value);
  else input.value = value ?? "";
  return input;
};
const select = (id, options, chosen) => {
  const element = make("select", { id }, ...options.map(([value, text]) => make("option", { value }, text)));
  element.value = chosen;
  return element;
};

// A moment as people choose it: none, at once, or a time on the clock of a zone, shown in others.
function momentField(id, label, note, value, choices) {
  const mode = select(id, choices, value ? "time" : choices[0][0]);
  const zone = select(`${id}Zone`, ZONES().map(name => [name, name]), ZONES()[0]);
  const local = typed(`${id}Local`, "datetime-local", value ? localTime(Date.parse(value), zone.value) : "", { "aria-label": `${label}, ${say("time")}` });
  zone.setAttribute("aria-label", say("zone"));
  const zones = make("ul", { class: "zones", id: `${id}Zones` }), bad = make("p", { class: "bad", role: "alert", hidden: true }, say("badTime"));
  const exact = make("div", { class: "row" }, local, zone);
  const show = () => {
    exact.hidden = mode.value !== "time";
    const at = mode.value === "time" && local.value ? momentOf(local.value, zone.value) : null;
    bad.hidden = mode.value !== "time" || !local.value || at !== null;
    const left = at - Date.now();
    zones.replaceChildren(...(at === null ? [] : [make("li", {}, make("b", {}, left > 0 ? say("inTime", { time: spanText(left) }) : say("past"))),
      ...ZONES().map(name => make("li", {}, `${new Intl.DateTimeFormat(language, { timeZone: name, dateStyle: "full", timeStyle: "short" }).format(at)} · ${name}`))]));
  };
  [mode, zone, local].forEach(input => { input.oninput = show; });
  show();
  const element = make("div", {}, field(label, note, mode), exact, bad, zones);
  // The rules read the local time with its zone themselves, and refuse what is no moment. What was not touched stays to the microsecond.
  const before = JSON.stringify([mode.value, zone.value, local.value]);
  const give = () => {
    if (value && JSON.stringify([mode.value, zone.value, local.value]) === before) return value;
    return mode.value === "now" ? "now" : mode.value === "time" && local.value ? `${local.value.slice(0, 16)}:00[${zone.value}]` : null;
  };
  return { element, give, good: () => mode.value !== "time" || (local.value && bad.hidden) };
}

const whole = input => input.value === "" ? null : Number(input.value);

function poolFields(pool, isNew, remove) {
  const kind = select("", ["counted", "seated", "coded"].map(name => [name, word("poolKinds", name)]), pool.kind);
  kind.disabled = !isNew;
  const name = typed("", "text", pool.name, { pattern: "[a-z0-9][a-z0-9_\\-]{0,63}", required: true });
  name.readOnly = !isNew;
  const most = typed("", "number", pool.capacity ?? 100, { min: 1, max: 4294967294, required: true });
  const limit = typed("", "number", pool.limit, { min: 1 }), waitlist = typed("", "number", pool.waitlist, { min: 0, max: 1000000 });
  const capacity = field(say("places"), null, most);
  const show = () => { capacity.hidden = kind.value === "seated" || pool.codes?.source === "imported"; most.disabled = capacity.hidden; };
  kind.oninput = show;
  show();
  const element = make("fieldset", { class: "card pool" }, make("legend", {}, pool.name || say("pool")), make("div", { class: "fields" },
    field(say("name"), null, name), field(say("kind"), null, kind), capacity, field(say("poolLimit"), null, limit), field(say("waitlist"), say("waitlistNote"), waitlist)),
  remove && make("button", { type: "button", class: "plain", onclick: remove }, say("removePool")));
  const give = () => ({ ...pool, name: name.value, kind: kind.value, limit: whole(limit), ...(capacity.hidden ? { capacity: undefined } : { capacity: whole(most) }), ...(waitlist.value === "" ? { waitlist: undefined } : { waitlist: whole(waitlist) }) });
  return { element, give };
}

// Gives what differs, each with before and after, as rows for the question.
function differences(before, after, prefix = "") {
  const keys = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return keys.flatMap(name => {
    const [old, now] = [before?.[name], after?.[name]];
    if (JSON.stringify(old ?? null) === JSON.stringify(now ?? null)) return [];
    if (now && typeof now === "object") return differences(old, now, `${prefix}${Array.isArray(after) ? now.name ?? name : name}.`);
    return [[`${prefix}${name}`, old === undefined || old === null ? String(now ?? "–") : `${old} → ${now ?? "–"}`]];
  });
}

function formOf(name, one) {
  const isNew = !one;
  const now = one ? requestOf(one) : { title: "", opens_at: null, closes_at: null, limits: { campaign: null }, claim_again: false, units_return: true, public: false, hold_ttl_ms: 480000, hold_max_ms: 1800000, holds: "one", holds_per_hour: 60, allow_orphans: false, offer_ms: 600000, pools: [{ name: "main", kind: "counted", capacity: 100 }] };
  const own = typed("fName", "text", name, { pattern: "[a-z0-9][a-z0-9_\\-]{0,63}", required: true });
  const title = typed("fTitle", "text", now.title, { maxlength: 200 });
  const opens = momentField("fOpens", say("opens"), say("opensNote"), now.opens_at, [["none", say("draft")], ["now", say("nowOption")], ["time", say("atTime")]]);
  const closes = momentField("fCloses", say("closes"), say("closesNote"), now.closes_at, [["none", say("never")], ["time", say("atTime")]]);
  const limit = typed("fLimit", "number", now.limits.campaign, { min: 1 });
  const again = typed("fAgain", "checkbox", now.claim_again), back = typed("fReturn", "checkbox", now.units_return), open = typed("fPublic", "checkbox", now.public);
  const ttl = typed("fTtl", "number", now.hold_ttl_ms / 1000, { min: 1, max: 86400, required: true }), most = typed("fMax", "number", now.hold_max_ms / 1000, { min: 1, max: 86400, required: true });
  const offer = typed("fOffer", "number", (now.offer_ms ?? 600000) / 1000, { min: 1, max: 86400, required: true });
  const orphans = typed("fOrphans", "checkbox", now.allow_orphans), many = typed("fMany", "checkbox", now.holds === "many");
  const pools = make("div", {}), added = [];
  const show = () => pools.replaceChildren(...added.map(pool => pool.element));
  const add = (pool, fresh) => {
    const fields = poolFields(pool, fresh, fresh && added.length > 0 ? () => { added.splice(added.indexOf(fields), 1); show(); } : null);
    added.push(fields);
    show();
  };
  now.pools.forEach(pool => add(pool, isNew));
  const request = () => ({
    ...now, title: title.value, opens_at: opens.give(), closes_at: closes.give(), limits: { ...now.limits, campaign: whole(limit) }, claim_again: again.checked, units_return: back.checked, public: open.checked,
    hold_ttl_ms: ttl.value * 1000, hold_max_ms: most.value * 1000, holds: many.checked ? "many" : "one", allow_orphans: orphans.checked, ...(now.offer_ms !== undefined && { offer_ms: offer.value * 1000 }), pools: added.map(pool => JSON.parse(JSON.stringify(pool.give()))),
  });
  const send = async event => {
    event.preventDefault();
    if (!opens.good() || !closes.good()) return;
    const body = request(), wanted = own.value;
    const rows = isNew ? differences({}, body) : differences(JSON.parse(JSON.stringify(now)), JSON.parse(JSON.stringify(body)));
    if (rows.length === 0) { tell(say("unchanged")); return; }
    const done = await askAndAct({ title: say(isNew ? "askCreate" : "askSave", { name: body.title || wanted }), rows, what: say(isNew ? "newCampaign" : "change"), method: "PUT", path: path(wanted), body, match: isNew ? "*" : `"${one.version}"` });
    if (done?.ok) location.hash = link(wanted);
  };
  return make("form", { onsubmit: send, id: "campaignForm" },
    make("section", { class: "card" }, isNew ? field(say("name"), say("nameNote"), own) : null, field(say("title"), say("titleNote"), title), opens.element, closes.element,
      field(say("limit"), say("limitNote"), limit), field(say("claimAgain"), say("claimAgainNote"), again), field(say("unitsReturn"), say("unitsReturnNote"), back), field(say("public"), say("publicNote"), open)),
    make("section", {}, make("h2", {}, say("pools")), make("p", { class: "soft" }, say("poolsNote")), pools, make("button", { type: "button", class: "plain", id: "addPool", onclick: () => add({ name: "", kind: "counted", capacity: 100 }, true) }, say("addPool"))),
    make("section", { class: "card" }, make("h2", {}, say("advanced")), field(say("holdTtl"), say("holdTtlNote"), ttl), field(say("holdMax"), say("holdMaxNote"), most), field(say("offerTime"), null, offer), field(say("orphans"), say("orphansNote"), orphans), field(say("manyHolds"), say("manyHoldsNote"), many)),
    make("div", { class: "row" }, make("button", { id: "send" }, say(isNew ? "create" : "save"))));
}

function newView() {
  return { title: say("newCampaign"), content: [make("div", { class: "head" }, make("h1", {}, say("newCampaign"))), formOf("", null)] };
}

function changeView(name) {
  const head = campaignHead(name, "/change"), place = make("div", {}, say("loading"));
  return {
    title: `${name} · ${say("change")}`, content: [...head.content, place],
    async refresh() {
      const one = await read(path(name));
      head.show(one);
      if (!place.firstElementChild) place.replaceChildren(formOf(name, one));
    },
  };
}
