// What is shown: everything follows from `state`; only what changed is written, so that focus and screen readers are left alone.
const at = id => document.getElementById(id);

function set(id, text) {
  const element = typeof id === "string" ? at(id) : id;
  if (element.textContent !== text) element.textContent = text;
}

function show(id, is) {
  at(id).hidden = !is;
}

// Makes an element; text is always text, whatever stands in it.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.onclick = value;
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// Fills an element anew where what it is made from is not what it was; the focus stays at its place.
function fill(id, from, children) {
  const element = at(id), key = JSON.stringify([from, language]);
  if (element.dataset.from === key) return;
  const nth = [...element.querySelectorAll("button, input")].indexOf(document.activeElement);
  element.dataset.from = key;
  element.replaceChildren(...children());
  if (nth >= 0) (element.querySelectorAll("button, input")[nth] ?? element.querySelector("button, input"))?.focus();
}

function copyButton(label, text) {
  const button = make("button", { type: "button", class: "plain" }, label);
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      // Without the right to the clipboard: a field that is selected, as before there was one.
      const field = make("textarea", { readonly: true }, text());
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    set(button, say("copied"));
    setTimeout(() => set(button, label), 2000);
  };
  return button;
}

function receipt(claim) {
  const rows = [
    [say("campaign"), state.campaign.title || CAMPAIGN],
    state.campaign.pools.length > 1 && [say("pool"), claim.pool],
    claim.unit && [say("seatName"), claim.unit],
    [say("number"), String(claim.rank)],
    [say("name"), subject],
    [say("time"), moment(claim.at)],
  ];
  return rows.filter(Boolean);
}

function receiptText(claim) {
  const lines = receipt(claim).map(([name, value]) => `${name}: ${value}`);
  return [...lines, `${CAMPAIGN} ${claim.pool} #${claim.rank} ${claim.at}`, location.origin + location.pathname].join("\n") + "\n";
}

function saveReceipt(claim) {
  const url = URL.createObjectURL(new Blob([receiptText(claim)], { type: "text/plain" }));
  make("a", { href: url, download: `${CAMPAIGN}-${claim.pool}-${claim.rank}.txt` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function claimCard(claim) {
  const card = make("article");
  const is = claim.cancelled ? "gone" : "";
  card.append(make("p", { class: `rank ${is}` }, say("rank", { rank: number(claim.rank) })));
  if (claim.cancelled) card.append(make("p", {}, say("cancelled", { date: moment(claim.cancelled.at) })));
  const coded = state.campaign.pools.find(pool => pool.name === claim.pool)?.kind === "coded";
  if (coded && !claim.cancelled) {
    const code = state.codes.get(`${claim.pool} ${claim.rank}`);
    card.append(make("p", {}, say("code")), make("output", { class: "code" }, code ?? say("codeHidden")));
    if (code) card.append(make("div", { class: "row" }, copyButton(say("copyCode"), () => code)));
  }
  card.append(make("dl", {}, ...receipt(claim).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
  card.append(make("div", { class: "row" },
    copyButton(say("copy"), () => receiptText(claim)),
    make("button", { type: "button", class: "plain", onclick: () => saveReceipt(claim) }, say("save"))));
  return card;
}

// Gives the address of the shop for a campaign, and for a hold that is to be paid.
function shopLink(hold) {
  const shop = document.documentElement.dataset.shop;
  if (!shop) return null;
  const query = new URLSearchParams({ campaign: CAMPAIGN, ...(hold && { hold }) });
  return `${shop}?${query}`;
}

function placeCard(place) {
  const card = make("article");
  if (place.state === "offered") {
    card.append(make("p", { class: "offer" }, place.quantity > 1 ? say("offerMany", { n: place.quantity }) : say("offer")));
    const names = place.units.map(unit => unit.unit ?? unit.area).filter(Boolean).join(", ");
    if (names) card.append(make("p", {}, names));
    card.append(make("p", { class: "offerTime", role: "timer", "data-until": place.expires_at }));
    const coded = state.campaign.pools.find(pool => pool.name === place.pool)?.kind === "coded";
    const link = shopLink(place.hold);
    if (coded) card.append(make("button", { type: "button", class: "main", onclick: () => claim(place.pool, false) }, say("take")));
    else if (link) card.append(make("a", { class: "main", href: link }, say("pay")));
    else card.append(make("p", {}, say("payNote", { hold: place.hold })));
  } else {
    const ahead = place.ahead === 0 ? say("aheadNone") : place.ahead === 1 ? say("aheadOne") : say("ahead", { n: number(place.ahead) });
    card.append(make("p", { class: "ahead" }, ahead));
    if (place.quantity > 1) card.append(make("p", {}, say("forMany", { n: place.quantity })));
    if (place.passed_over) card.append(make("p", {}, say("passedOver")));
  }
  card.append(make("div", { class: "row" }, make("button", { type: "button", class: "plain", onclick: () => leave(place.pool) }, say("leave"))));
  return card;
}

const unitName = unit => unit.unit ?? unit.area ?? unit.pool;

function basketRows(holds) {
  return holds.flatMap(hold => hold.units.filter(unit => unit.state === "held").map(unit => {
    const price = unit.price_minor === undefined ? "" : money(unit.price_minor * (unit.quantity ?? 1), unit.currency);
    const shown = [unitName(unit), unit.quantity > 1 ? `× ${unit.quantity}` : "", unit.grade, price].filter(Boolean).join(" · ");
    const back = unit.unit
      ? { units: [unit.unit], pool: unit.pool }
      : { picks: [{ pool: unit.pool, quantity: 1, ...(unit.area && { area: unit.area }) }] };
    const drop = make("button", { type: "button", class: "plain", "aria-label": say("giveBackOne", { name: unitName(unit) }), onclick: () => hall.step(hold, "release", back, unit.unit ? [unit.unit] : []) }, "×");
    return make("li", {}, make("span", {}, shown), drop);
  }));
}

function renderHall() {
  const pool = chosenPool();
  const seated = pool?.kind === "seated" && !state.gone;
  show("hall", seated);
  document.body.classList.toggle("wide", Boolean(seated));
  if (!seated) return;
  set("hallTitle", say("hall"));
  for (const id of ["zoomIn", "zoomOut", "zoomAll"]) at(id).setAttribute("aria-label", say(id));
  at("map").setAttribute("aria-label", say("mapLabel"));
  const acts = canAct();
  fill("legend", [hall.map.grades, isDark()], () => {
    const chip = (style, size = 16) => {
      const box = make("canvas", { width: 16, height: 16, "aria-hidden": "true" });
      const pen = box.getContext("2d");
      pen.fillStyle = style;
      pen.fillRect((16 - size) / 2, (16 - size) / 2, size, size);
      return box;
    };
    const grade = ({ grade, price, currency, nth }) => make("li", {}, chip(gradeColour(nth)), [grade, price === null ? "" : money(price, currency)].filter(Boolean).join(" ") || say("free"));
    return [...hall.map.grades.map(grade), make("li", {}, chip(colour("--taken"), 9), say("taken")), make("li", {}, chip(colour("--mine")), say("mine"))];
  });
  fill("areas", [hall.areas, hall.standing, acts], () => hall.areas.map((area, nth) => {
    const [left] = hall.standing[nth];
    const text = [area.name, area.price_minor === null ? "" : money(area.price_minor, area.currency), say("poolLeft", { left: number(left) })].filter(Boolean).join(" · ");
    const add = make("button", { type: "button", class: "plain", "aria-label": `${say("add")}: ${area.name}`, disabled: !acts || left === 0 || !area.for_sale, onclick: () => hall.take({ pool: hall.pool, area: area.name, quantity: 1 }) }, say("add"));
    return make("div", { class: "row" }, make("span", {}, text), add);
  }));
  set("bestCount", say("bestCount"));
  set("bestGrade", say("bestGrade"));
  set("bestGo", say("bestGo"));
  at("bestGo").disabled = !acts || pool.left === 0;
  fill("bestGrades", hall.map.grades, () => [make("option", { value: "" }, say("anyGrade")), ...hall.map.grades.filter(grade => grade.grade).map(grade => make("option", { value: grade.nth }, grade.grade))]);
  const holds = hall.baskets();
  set("basketTitle", say("basket"));
  fill("basketUnits", holds, () => basketRows(holds));
  const units = holds.flatMap(hold => hold.units).filter(unit => unit.state === "held");
  const priced = units.filter(unit => unit.price_minor !== undefined);
  const sum = priced.reduce((all, unit) => all + unit.price_minor * (unit.quantity ?? 1), 0);
  const one = new Set(priced.map(unit => unit.currency)).size === 1;
  set("basketSum", units.length === 0 ? say("basketEmpty") : one ? say("sum", { sum: money(sum, priced[0].currency) }) : "");
  const link = holds[0] && shopLink(holds[0].hold);
  show("pay", Boolean(link));
  if (link) { at("pay").href = link; set("pay", say("pay")); }
  show("payNote", Boolean(holds[0]) && !link);
  if (holds[0]) set("payNote", say("payNote", { hold: holds[0].hold }));
  show("giveBack", units.length > 0);
  set("giveBack", say("giveBack"));
}

// What goes on with time alone: countdowns.
function renderTime() {
  const { campaign } = state;
  if (!campaign) return;
  if (phase() !== state.phase) { render(); return; }
  if (state.phase === "scheduled") set("countdown", span(Date.parse(campaign.opens_at) - clock.now()));
  const hold = hall.baskets()[0];
  const left = hold && Date.parse(hold.expires_at) - clock.now();
  set("basketTime", !hold ? "" : left > 0 ? say("basketLeft", { time: span(left) }) : say("checking"));
  at("basketTime").classList.toggle("soon", Boolean(hold) && left < 60000);
  for (const element of document.querySelectorAll(".offerTime")) {
    const rest = Date.parse(element.dataset.until) - clock.now();
    set(element, rest > 0 ? say("offerUntil", { time: span(rest) }) : say("checking"));
  }
  // What the server was to say by now is asked for.
  if (hold && left < -1500) catchUpSoon();
}

// The sentence on top.
function headline() {
  if (state.gone) return say(state.gone);
  if (!state.campaign) return say("checking");
  if (state.checking || (state.phase === "open" && !isKnown())) return say("checking");
  if (state.phase === "open" && state.campaign.left === 0 && state.campaign.pools.every(pool => pool.left === 0)) return say("soldOut");
  return say(state.phase);
}

function renderAct(pool) {
  const claimed = state.own.claims.some(one => one.pool === pool?.name && !one.cancelled);
  const placed = state.own.places.some(one => one.pool === pool?.name);
  const gaveUp = !state.campaign?.claim_again && state.own.claims.some(one => one.pool === pool?.name && one.cancelled);
  const offered = pool && pool.kind !== "seated" && !claimed && !placed && !gaveUp;
  const open = state.phase === "open";
  const soldOut = open && pool?.left === 0;
  const waits = soldOut && (pool.waitlist ?? 0) > 0;
  const could = subject && !state.gone && isKnown();
  const seatedWaits = pool?.kind === "seated" && waits && !placed && hall.baskets().length === 0 && !claimed;
  const is = could && ((offered && (open || state.phase === "scheduled") && (!soldOut || waits)) || seatedWaits);
  show("act", Boolean(is));
  const act = at("act");
  if (is) {
    act.disabled = !open || state.busy;
    set(act, state.busy ? say(state.checking ? "checking" : "claimBusy") : !open ? say("claimSoon") : waits ? say("wait") : say("claim"));
    act.onclick = () => claim(pool.name, waits);
  }
  show("note", Boolean(is && waits));
  if (is && waits) set("note", say("waitNote", { n: number(pool.waiting) }));
}

function render() {
  document.documentElement.lang = language;
  state.phase = phase();
  const { campaign } = state;
  const pool = chosenPool();
  const title = campaign?.title || CAMPAIGN;
  set("title", title);
  if (document.title !== title) document.title = title;
  set("language", say("language"));
  at("language").lang = say("languageCode");
  show("who", Boolean(subject) && !state.gone);
  if (subject) set("who", say("you", { name: subject }));
  set("status", headline());
  const counting = Boolean(campaign) && state.phase === "scheduled" && !state.gone;
  show("clock", counting);
  if (counting) set("opening", say("openingAt", { date: moment(campaign.opens_at), zone: zone() }));
  const pools = campaign?.pools ?? [];
  show("pools", pools.length > 1 && !state.gone);
  fill("pools", [pools.map(pool => [pool.name, pool.left]), pool?.name], () => [make("legend", {}, say("choosePool")), ...pools.map(one => {
    const radio = make("input", { type: "radio", name: "pool", value: one.name, checked: one === pool });
    radio.onchange = () => choose(one.name);
    return make("label", {}, radio, make("span", {}, one.name), make("span", { class: "count" }, say("poolLeft", { left: number(one.left) })));
  })]);
  const supplied = Boolean(pool) && ["open", "paused", "scheduled"].includes(state.phase) && !state.gone;
  show("supply", supplied);
  if (supplied) {
    at("left").max = Math.max(pool.capacity, 1);
    at("left").value = pool.left;
    set("leftText", pool.kind === "seated" ? say("seatsLeft", { left: number(pool.left) }) : say("left", { left: number(pool.left), all: number(pool.capacity) }));
    at("left").setAttribute("aria-label", at("leftText").textContent);
  }
  show("problem", Boolean(state.problem));
  set("problem", state.problem ?? "");
  renderAct(pool);
  const link = (state.gone === "noAccess" || state.gone === "ended" || !subject) && state.gone !== "notFound" && shopLink();
  show("shop", Boolean(link));
  if (link) { at("shop").href = link; set("shop", say("toShop")); }
  if (!subject && campaign && !state.gone) { show("note", true); set("note", say("readOnly")); }
  const { claims, places } = state.own;
  show("won", claims.length > 0 && Boolean(campaign) && !state.gone);
  set("wonTitle", say(claims.some(one => one.unit) ? "seatTitle" : "rankTitle"));
  if (campaign) fill("claims", [claims, [...state.codes], campaign.title], () => claims.map(claimCard));
  show("waiting", places.length > 0 && Boolean(campaign) && !state.gone);
  set("waitingTitle", say("placeTitle"));
  if (campaign) fill("places", places, () => places.map(placeCard));
  renderHall();
  set("link", state.gone ? "" : say({ live: "live", lost: "lost" }[state.link] ?? "polling"));
  document.body.dataset.link = state.link;
  document.body.dataset.phase = state.phase;
  renderTime();
}
