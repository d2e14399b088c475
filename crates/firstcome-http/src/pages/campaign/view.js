// What is shown: everything follows from the session.
const at = id => document.getElementById(id);

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
    [say("campaign"), session.campaign.title || CAMPAIGN],
    session.campaign.pools.length > 1 && [say("pool"), claim.pool],
    claim.unit && [say("seatName"), claim.unit],
    [say("number"), String(claim.rank)],
    [say("name"), session.subject],
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
  const coded = session.campaign.pools.find(pool => pool.name === claim.pool)?.kind === "coded";
  if (coded && !claim.cancelled) {
    const code = codes.get(`${claim.pool} ${claim.rank}`);
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
    const coded = session.campaign.pools.find(pool => pool.name === place.pool)?.kind === "coded";
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

// What goes on with time alone: countdowns.
function renderTime() {
  const { campaign } = session;
  if (!campaign) return;
  if (session.phaseNow() !== session.phase) { render(); return; }
  if (session.phase === "scheduled") set(at("countdown"), span(Date.parse(campaign.opens_at) - session.clock.now()));
  hall.renderTime();
  for (const element of document.querySelectorAll(".offerTime")) {
    const rest = Date.parse(element.dataset.until) - session.clock.now();
    set(element, rest > 0 ? say("offerUntil", { time: span(rest) }) : say("checking"));
  }
}

function renderAct(pool) {
  const claimed = session.own.claims.some(one => one.pool === pool?.name && !one.cancelled);
  const placed = session.own.places.some(one => one.pool === pool?.name);
  const gaveUp = !session.campaign?.claim_again && session.own.claims.some(one => one.pool === pool?.name && one.cancelled);
  const offered = pool && pool.kind !== "seated" && !claimed && !placed && !gaveUp;
  const open = session.phase === "open";
  const soldOut = open && pool?.left === 0;
  const waits = soldOut && (pool.waitlist ?? 0) > 0;
  const could = session.subject && !session.gone && session.isKnown();
  const seatedWaits = pool?.kind === "seated" && waits && !placed && hall.baskets().length === 0 && !claimed;
  const is = could && ((offered && (open || session.phase === "scheduled") && (!soldOut || waits)) || seatedWaits);
  show(at("act"), Boolean(is));
  const act = at("act");
  if (is) {
    act.disabled = !open || isBusy;
    set(act, isBusy ? say(session.checking ? "checking" : "claimBusy") : !open ? say("claimSoon") : waits ? say("wait") : say("claim"));
    act.onclick = () => claim(pool.name, waits);
  }
  show(at("note"), Boolean(is && waits));
  if (is && waits) set(at("note"), say("waitNote", { n: number(pool.waiting) }));
}

function render() {
  document.documentElement.lang = language;
  session.phase = session.phaseNow();
  const { campaign } = session;
  const pool = session.chosenPool();
  const title = campaign?.title || CAMPAIGN;
  set(at("title"), title);
  if (document.title !== title) document.title = title;
  set(at("language"), say("language"));
  at("language").lang = say("languageCode");
  show(at("who"), Boolean(session.subject) && !session.gone);
  if (session.subject) set(at("who"), say("you", { name: session.subject }));
  set(at("status"), session.gone ? say(session.gone) : headline(session));
  const counting = Boolean(campaign) && session.phase === "scheduled" && !session.gone;
  show(at("clock"), counting);
  if (counting) set(at("opening"), say("openingAt", { date: moment(campaign.opens_at), zone: zone() }));
  const pools = campaign?.pools ?? [];
  show(at("pools"), pools.length > 1 && !session.gone);
  fill(at("pools"), [pools.map(pool => [pool.name, pool.left]), pool?.name], () => [make("legend", {}, say("choosePool")), ...pools.map(one => {
    const radio = make("input", { type: "radio", name: "pool", value: one.name, checked: one === pool });
    radio.onchange = () => session.choose(one.name);
    return make("label", {}, radio, make("span", {}, one.name), make("span", { class: "count" }, say("poolLeft", { left: number(one.left) })));
  })]);
  const supplied = Boolean(pool) && ["open", "paused", "scheduled"].includes(session.phase) && !session.gone;
  show(at("supply"), supplied);
  if (supplied) {
    at("left").max = Math.max(pool.capacity, 1);
    at("left").value = pool.left;
    set(at("leftText"), pool.kind === "seated" ? say("seatsLeft", { left: number(pool.left) }) : say("left", { left: number(pool.left), all: number(pool.capacity) }));
    at("left").setAttribute("aria-label", at("leftText").textContent);
  }
  show(at("problem"), Boolean(session.problem));
  set(at("problem"), session.problem ?? "");
  renderAct(pool);
  const link = (session.gone === "noAccess" || session.gone === "ended" || !session.subject) && session.gone !== "notFound" && shopLink();
  show(at("shop"), Boolean(link));
  if (link) { at("shop").href = link; set(at("shop"), say("toShop")); }
  if (!session.subject && campaign && !session.gone) { show(at("note"), true); set(at("note"), say("readOnly")); }
  const { claims, places } = session.own;
  show(at("won"), claims.length > 0 && Boolean(campaign) && !session.gone);
  set(at("wonTitle"), say(claims.some(one => one.unit) ? "seatTitle" : "rankTitle"));
  if (campaign) fill(at("claims"), [claims, [...codes], campaign.title], () => claims.map(claimCard));
  show(at("waiting"), places.length > 0 && Boolean(campaign) && !session.gone);
  set(at("waitingTitle"), say("placeTitle"));
  if (campaign) fill(at("places"), places, () => places.map(placeCard));
  hall.render();
  document.body.classList.toggle("wide", !at("hall").hidden);
  set(at("link"), session.gone ? "" : say({ live: "live", lost: "lost" }[session.link] ?? "polling"));
  document.body.dataset.link = session.link;
  document.body.dataset.phase = session.phase;
  renderTime();
}
