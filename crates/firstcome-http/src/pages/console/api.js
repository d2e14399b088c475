// Who asks, and every request: reads, and acts that are asked once and sent until it is known what came of them.
const KEY = "firstcome-console-key";
let key = kept(forTab, KEY), me = null;

const at = id => document.getElementById(id);

// Asks once; the path is that below the server, which may be at a path of a shop. Throws where no answer came.
async function ask(method, path, { body, id, match } = {}) {
  const headers = { authorization: `Bearer ${key}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (id) headers["idempotency-key"] = id;
  if (match) headers[match === "*" ? "if-none-match" : "if-match"] = match;
  const answer = await fetch(`.${path}`, { method, headers, cache: "no-store", body: body === undefined ? undefined : JSON.stringify(body), signal: AbortSignal.timeout(10000) });
  const document = await answer.json();
  if (answer.status === 401) leave("wrongKey");
  return { ok: answer.ok, status: answer.status, document };
}

const read = async path => {
  const { ok, document } = await ask("GET", path);
  if (!ok) throw Object.assign(new Error(document.outcome), { problem: document });
  return document;
};

// Whether this key may do what operators do, to a campaign or at all.
const RANKS = ["read", "redeem", "backend", "operator", "admin"];
const mayOperate = campaign => Boolean(me) && RANKS.indexOf(me.role) >= 3 && (campaign === undefined || !me.campaigns || campaign.startsWith(me.campaigns));
// Whether this key sees what concerns the whole space.
const seesAll = () => Boolean(me) && !me.campaigns;

function tell(text, bad = false) {
  const said = at("said");
  said.hidden = !text;
  said.classList.toggle("bad", bad);
  set(said, text ?? "");
}

// Asks the person once. Gives what was typed, or null for a no.
function asked(title, text, rows = [], field = null) {
  const dialog = at("ask");
  set(at("askTitle"), title);
  set(at("askText"), text ?? "");
  at("askText").hidden = !text;
  at("askList").replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  set(at("askYes"), say("yes"));
  set(at("askNo"), say("no"));
  at("askProblem").hidden = true;
  at("askWhy").hidden = !field;
  const input = at("askReason");
  Object.assign(input, { required: Boolean(field), type: field?.type ?? "text", value: field?.value ?? "", min: field?.min ?? "", max: field?.max ?? "" });
  if (field) set(at("askWhy").firstElementChild, field.label);
  dialog.showModal();
  (field ? input : at("askNo")).focus();
  return new Promise(done => {
    // The event of its close comes later, when the next question may be asked already.
    dialog.onsubmit = ({ submitter }) => done(submitter.value === "yes" ? { typed: input.value.trim() } : null);
    dialog.oncancel = () => done(null);
  });
}

// Sends an act until it is known what came of it: it has an id, so it happens once. Says what came of it.
async function act(what, method, path, options = {}) {
  const id = newId();
  for (let wait = 300, tries = 0; key; wait = Math.min(wait * 1.7, 5000), tries++) {
    let answer;
    try {
      answer = await ask(method, path, { ...options, id });
    } catch {
      tell(say("checking"));
      await backOff(wait);
      continue;
    }
    const { outcome, changed, retry, detail, title } = answer.document;
    const again = changed === "unknown" || (retry && !answer.ok && tries < 8);
    if (!again) {
      tell(answer.ok ? say("done", { what, outcome: outcome ?? "ok" }) : say("refused", { why: detail ?? title ?? outcome }), !answer.ok);
      return answer;
    }
    tell(say("checking"));
    await backOff(wait * random(0.8, 1.2));
  }
  return null;
}

// Asks once, then acts.
async function askAndAct({ title, text, rows, field, what, method, path, body, match }) {
  const yes = await asked(title, text, rows, field);
  if (!yes) return null;
  return act(what, method, path, { body: typeof body === "function" ? body(yes.typed) : body, match });
}

function leave(why) {
  key = me = null;
  keep(forTab, KEY, null);
  go();
  if (why) tell(say(why), true);
}
