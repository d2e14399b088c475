// Webhooks: the endpoints that results are sent to, and one of them with its last tries.
const hookPath = (id, part = "") => `/v1/webhooks/${encodeURIComponent(id)}${part}`;
const hookLink = id => `#/webhooks/${encodeURIComponent(id)}`;
const listed = text => text.split(",").map(one => one.trim()).filter(Boolean);
const allOr = names => names.length ? names.join(", ") : say("anyKind");
// Routes of webhooks are for administrators of the whole space.
const mayHook = () => seesAll() && me.role === "admin";
// The endpoint whose secret was made a moment ago: no later answer has it.
let withSecret = null;

function webhooksView() {
  const list = make("section", { class: "card" }, say("loading"));
  const url = typed("hookUrl", "url", "", { required: true, maxlength: 2048, placeholder: "https://" }), note = typed("hookNote", "text", "", { maxlength: 256 });
  const campaigns = typed("hookCampaigns", "text", ""), types = typed("hookTypes", "text", "");
  const ordered = typed("hookOrdered", "checkbox", true), first = typed("hookFirst", "checkbox", false);
  const add = async event => {
    event.preventDefault();
    const body = { url: url.value.trim(), campaigns: listed(campaigns.value), types: listed(types.value), ordered: ordered.checked, note: note.value.trim(), ...(first.checked && { after: 0 }) };
    const added = await askAndAct({ title: say("askAddHook", { url: body.url }), what: say("addHook"), method: "POST", path: "/v1/webhooks", body });
    if (!added?.ok) return;
    withSecret = added.document;
    location.hash = hookLink(withSecret.webhook);
  };
  const form = make("form", { class: "card", id: "hookForm", onsubmit: add }, make("h2", {}, say("addHook")), field(say("url"), say("urlNote"), url),
    make("div", { class: "fields" }, field(say("campaigns"), say("campaignsNote"), campaigns), field(say("types"), say("typesNote"), types), field(say("note"), null, note)),
    field(say("ordered"), say("orderedNote"), ordered), field(say("fromFirst"), say("fromFirstNote"), first), make("button", { id: "addHook" }, say("addHook")));
  return {
    title: say("webhooks"), content: [make("div", { class: "head" }, make("h1", {}, say("webhooks"))), list, form], every: 3000,
    async refresh() {
      const { webhooks } = await read("/v1/webhooks");
      fill(list, webhooks, () => [make("p", { class: "soft" }, say("webhooksNote")), webhooks.length === 0 ? make("p", {}, say("none")) : table(
        [[say("url")], [say("state")], [say("campaigns")], [say("through"), true], [say("again"), true], [say("parked"), true], [say("note")]],
        webhooks.map(one => [make("a", { href: hookLink(one.webhook) }, one.url), chip(one.state), allOr(one.campaigns), number(one.through), number(one.waiting), number(one.parked), one.note || "–"]))]);
    },
  };
}

function webhookView(id) {
  const title = make("h1", {}, id), state = make("span"), buttons = make("div", { class: "row" });
  const secret = make("section", { class: "card", id: "secret", hidden: true }), numbers = make("dl", { class: "numbers" });
  const about = make("section", { class: "card" }), tries = make("section", { class: "card", id: "tries" });
  const showSecret = () => {
    secret.hidden = !withSecret?.secret;
    secret.replaceChildren(make("p", {}, say("secretOnce")), make("code", {}, withSecret?.secret ?? ""));
  };
  showSecret();
  const change = (one, verb, method = "POST", part = `/${verb}`, body) => askAndAct({
    title: say(`askHook_${verb}`, { url: one.url, n: number(one.parked) }), text: say(`askHook_${verb}Text`), what: say(`hook_${verb}`), method, path: hookPath(id, part), body,
  });
  const rotate = async one => {
    const rotated = await change(one, "rotate");
    if (rotated?.ok) withSecret = rotated.document;
    showSecret();
    refreshNow();
  };
  const remove = async one => {
    const removed = await change(one, "remove", "DELETE", "");
    if (removed?.ok) location.hash = "#/webhooks";
  };
  const test = async () => {
    tell(say("testing"));
    try {
      const { ok, document } = await ask("POST", hookPath(id, "/test"));
      if (!ok) tell(say("refused", { why: document.detail ?? document.title }), true);
      else tell(say(document.taken ? "testTaken" : "testFailed", { said: [document.status, document.said].filter(Boolean).join(" "), ms: number(document.took_ms) }), !document.taken);
    } catch {
      tell(say("lost"), true);
    }
  };
  const button = (verb, act, style = "plain") => make("button", { type: "button", id: `hook-${verb}`, class: style, onclick: act }, say(`hook_${verb}`));
  return {
    title: say("webhooks"), content: [make("div", { class: "head" }, title, state, buttons), secret, numbers, about, tries], every: 2000,
    async refresh() {
      const one = await read(hookPath(id));
      set(title, one.url);
      fill(state, one.state, () => [chip(one.state)]);
      fill(buttons, [one.state === "off", one.parked, one.url], () => [
        button("test", test), one.parked > 0 ? button("resend", () => change(one, "resend", "POST", "/resend", {}).then(refreshNow)) : null, button("rotate", () => rotate(one)),
        one.state === "off" ? button("enable", () => change(one, "enable").then(refreshNow)) : button("disable", () => change(one, "disable").then(refreshNow), "danger"), button("remove", () => remove(one), "danger"),
      ].filter(Boolean));
      fill(numbers, [one.through, one.waiting, one.parked], () => ["through", "again", "parked"].map((text, nth) => make("div", {}, make("dt", {}, say(text)), make("dd", { id: `n-${text}` }, number([one.through, one.waiting, one.parked][nth])))));
      fill(about, [one.state, one.off_reason, one.since, one.next_at], () => [one.off_reason ? make("p", { class: "bad" }, one.off_reason) : null, make("dl", {}, ...[
        ["campaigns", allOr(one.campaigns)], ["types", allOr(one.types)], ["ordered", say(one.ordered ? "yesWord" : "noWord")], ["note", one.note || "–"], ["added", exactTime(one.added_at)],
        one.since && ["since", exactTime(one.since)], one.next_at && ["next", exactTime(one.next_at)],
      ].filter(Boolean).flatMap(([text, value]) => [make("dt", {}, say(text)), make("dd", {}, value)]))].filter(Boolean));
      fill(tries, one.deliveries, () => [make("h2", {}, say("tries")), one.deliveries.length === 0 ? make("p", {}, say("noTries")) : table(
        [[say("number"), true], [say("time")], [say("outcome")], [say("answer")], [say("took"), true], [say("event")]],
        one.deliveries.toReversed().map(tried => [number(tried.number), exactTime(tried.at), say(tried.taken ? "taken" : "notTaken"), [tried.status, tried.said].filter(Boolean).join(" ") || "–", `${number(tried.took_ms)} ms`, tried.event]))]);
    },
  };
}
