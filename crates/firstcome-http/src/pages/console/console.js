// Which view is shown, and how it is kept up to date; logging in and out.
let view = null, turn = 0, wake = () => {};

function viewOf(hash) {
  const [, first, name, part] = hash.slice(1).split("/").map(decodeURIComponent);
  if (first !== "webhooks" || name !== withSecret?.webhook) withSecret = null;
  if (first === "new" && mayOperate()) return newView();
  if (first === "subject") return subjectView(name);
  if (first === "servers" && seesAll()) return serversView();
  if (first === "webhooks" && mayHook()) return name ? webhookView(name) : webhooksView();
  if (first !== "c" || !name) return campaignsView();
  if (part === "seats") return seatsView(name);
  if (part === "results") return resultsView(name);
  if (part === "acts" && mayOperate(name)) return actsView(name);
  if (part === "change" && mayOperate(name)) return changeView(name);
  return overviewView(name);
}

function loginView() {
  const input = make("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const enter = async event => {
    event.preventDefault();
    key = input.value.trim();
    // What no header can have is no key.
    if (!/^[\x21-\x7e]+$/.test(key)) { key = null; tell(say("wrongKey"), true); return; }
    await begin();
    if (!me) input.select();
  };
  return { title: say("login"), content: [make("form", { id: "login", class: "card", onsubmit: enter }, make("h1", {}, say("login")), field(say("key"), say("loginNote"), input), make("button", { id: "enter" }, say("login")))] };
}

// Asks whose key it is; without an answer the log-in is shown.
async function begin() {
  try {
    const { ok, document: known } = await ask("GET", "/v1/key");
    if (!ok) { if (key) leave("wrongKey"); return; }
    me = known;
    keep(forTab, KEY, key);
    tell("");
    go();
  } catch {
    tell(say("lost"), true);
  }
}

function frame() {
  document.documentElement.lang = language;
  set(at("skip"), say("skip"));
  set(at("language"), say("language"));
  set(at("out"), say("logout"));
  at("out").hidden = at("nav").hidden = at("who").hidden = !me;
  at("nav").setAttribute("aria-label", "Firstcome");
  if (!me) return;
  set(at("who"), say(me.campaigns ? "youFor" : "you", { name: me.name, role: me.role, prefix: me.campaigns }));
  const places = [["#/", "campaigns"], ["#/subject", "subjects"], ...(seesAll() ? [["#/servers", "servers"]] : []), ...(mayHook() ? [["#/webhooks", "webhooks"]] : [])];
  const here = location.hash.split("/")[1] ?? "";
  fill(at("nav"), [here, me], () => places.map(([href, text]) => make("a", { href, "aria-current": (href.slice(2) === here || (href === "#/" && ["c", "new"].includes(here))) ? "page" : null }, say(text))));
}

// Shows the view of the address anew.
function go() {
  view?.stop?.();
  const mine = ++turn;
  view = me ? viewOf(location.hash || "#/") : loginView();
  frame();
  document.title = `${view.title} · Firstcome`;
  at("main").replaceChildren(...view.content);
  if (me) at("main").focus({ preventScroll: true });
  else at("key").focus();
  if (view.refresh) keepFresh(view, () => mine === turn);
}

const refreshNow = () => wake();

// Reads what the view shows again and again, while it is shown and somebody looks.
async function keepFresh(shown, alive) {
  let lost = false;
  while (alive()) {
    if (!document.hidden) {
      try {
        await shown.refresh(alive);
        if (lost) tell("");
        lost = false;
      } catch (why) {
        if (!alive()) return;
        lost = true;
        tell(why.problem ? say("refused", { why: why.problem.detail ?? why.problem.outcome }) : say("lost"), true);
        if (!why.problem && !(why instanceof TypeError) && why.name !== "TimeoutError" && why.name !== "AbortError") throw why;
      }
    }
    if (!shown.every) return;
    await Promise.race([pause(shown.every), new Promise(done => { wake = done; })]);
  }
}

at("language").onclick = () => {
  language = say("languageCode");
  keep(forBrowser, LANGUAGE, language);
  tell("");
  go();
};
at("out").onclick = () => leave();
addEventListener("hashchange", () => { tell(""); go(); });
document.addEventListener("visibilitychange", () => refreshNow());
frame();
if (key) begin().then(() => { if (!me) go(); });
else go();
