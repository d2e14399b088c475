// Whom a token is for: the server checks its signature, a page only shows the name.
function subjectOf(token) {
  try {
    const bytes = Uint8Array.from(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), c => c.charCodeAt(0));
    return String(JSON.parse(new TextDecoder().decode(bytes)).sub);
  } catch {
    return null;
  }
}

// The server's clock. An answer says its time: the clock is at least that far when the answer is here, however it was cached.
class Clock {
  least = -Infinity;
  way = Infinity;
  drift = null;

  learn(now, sent) {
    const here = performance.now();
    // Who slept, or set the clock of the device, measures anew.
    const drift = Date.now() - here;
    if (this.drift !== null && Math.abs(drift - this.drift) > 1000) [this.least, this.way] = [-Infinity, Infinity];
    this.drift = drift;
    this.least = Math.max(this.least, now - here);
    this.way = Math.min(this.way, here - sent);
  }

  // Half of the fastest round trip is what an answer needs to come here.
  now() {
    const measured = Number.isFinite(this.least);
    return measured ? this.least + Math.min(this.way / 2, 500) + performance.now() : Date.now();
  }
}

// What is known of one campaign and of what a subject has in it, and how it is kept up to date: requests, events, polling.
class Session {
  clock = new Clock();
  campaign = null;
  own = { claims: [], holds: [], places: [], position: null };
  phase = "checking";
  link = "polling";
  checking = false;
  problem = null;
  gone = null;
  // The map of the chosen pool, where there is one: it lives on the same events.
  seats = null;
  #last = null;
  #wasEarly = false;
  #isAway = false;
  #caughtUp = -Infinity;
  #begun = performance.now();
  // Who was here before the opening does not open a stream at the same instant as everybody else.
  #late = random(0, 3000);
  #ended = new AbortController();
  #closeStream = () => {};

  // `server` is its address without a `/` at the end. `changed` is called after each change; `tookOwn` when what the subject
  // has is known anew; `forgot` when the server refused the token; `refused` with each refusal of a command.
  constructor({ server, name, token, isPublic = false, pool = null, seatedOnly = false }, { changed, tookOwn, forgot, refused }) {
    Object.assign(this, { server, name, token, isPublic, pool, seatedOnly, changed, tookOwn, forgot, refused });
    this.subject = token && subjectOf(token);
    this.path = `/v1/campaigns/${encodeURIComponent(name)}`;
    this.storage = `firstcome-pending-${name}`;
  }

  get isOver() {
    return this.#ended.signal.aborted;
  }

  start() {
    const { signal } = this.#ended;
    // A page that nobody sees has no stream: a browser opens only a few connections to a server, over all tabs.
    addEventListener("pagehide", () => { this.#isAway = true; this.#closeStream(); }, { signal });
    addEventListener("pageshow", () => { this.#isAway = false; }, { signal });
    document.addEventListener("visibilitychange", () => setTimeout(() => document.hidden && this.#closeStream(), 5000), { signal });
    this.#poll();
    this.#follow();
  }

  stop() {
    this.#ended.abort();
    this.#closeStream();
  }

  // Goes on with another token of the same subject.
  renew(token) {
    this.token = token;
    this.#closeStream();
  }

  #forgetToken() {
    this.token = this.subject = null;
    this.forgot?.();
  }

  // Asks once; the path is that below the server, which may be at a path of a shop. Gives the status and the document; throws where no answer came.
  async ask(method, path, body, id) {
    const headers = {};
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    if (id) headers["idempotency-key"] = id;
    const sent = performance.now();
    const answer = await fetch(`${this.server}${path}`, { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(8000) });
    const document = await answer.json();
    if (document.now) this.clock.learn(Date.parse(document.now), sent);
    return { ok: answer.ok, status: answer.status, document, after: Number(answer.headers.get("retry-after")) * 1000 };
  }

  // Sends a command until it is known what came of it; gives nothing where the session ended before. Each has its own identity, so it happens once however often it is sent.
  async sure(method, path, body, id) {
    const checking = () => { this.checking = true; this.changed(); };
    for (let wait = 300, tries = 0; !this.isOver; wait = Math.min(wait * 1.7, 5000), tries++) {
      let answer;
      try {
        answer = await this.ask(method, path, body, id);
      } catch {
        checking();
        await backOff(wait);
        continue;
      }
      const { outcome, retry, changed } = answer.document;
      if (answer.ok || changed === "yes") return answer;
      const early = outcome === "not_open" && this.clock.now() > Date.parse(answer.document.opens_at) - 2000;
      if (changed === "unknown" || outcome === "unknown") checking();
      else if (early ? tries > 20 : !(retry && answer.status >= 429 && outcome !== "sold_out" && tries < 8)) return answer;
      await backOff(early ? random(40, 120) : Math.max(wait * random(0.8, 1.2), answer.after || 0));
    }
    return null;
  }

  // Sends a command that is remembered until its answer is there, so that a page which is loaded again sends it again.
  async command(path, body, id) {
    keep(forTab, this.storage, JSON.stringify({ path, body, id, subject: this.subject }));
    try {
      return await this.sure("POST", path, body, id);
    } finally {
      if (!this.isOver) keep(forTab, this.storage, null);
      this.checking = false;
    }
  }

  // Gives the command of this subject whose answer did not come before the page was loaded again: sent once more, it happens once.
  pending() {
    const pending = JSON.parse(kept(forTab, this.storage) ?? "null");
    return pending && this.subject && pending.subject === this.subject ? pending : null;
  }

  // The state of the campaign by the server's clock, which may be ahead of the last answer.
  phaseNow() {
    const { campaign, clock } = this;
    if (!campaign) return "checking";
    if (campaign.state === "scheduled" && clock.now() >= Date.parse(campaign.opens_at)) return "open";
    if (campaign.state === "open" && campaign.closes_at && clock.now() >= Date.parse(campaign.closes_at)) return "closed";
    return campaign.state;
  }

  chosenPool() {
    const pools = this.campaign?.pools.filter(pool => !this.seatedOnly || pool.kind === "seated");
    return pools?.find(pool => pool.name === this.pool) ?? pools?.[0];
  }

  canAct() {
    return Boolean(this.subject) && this.phase === "open" && !this.gone && this.isKnown();
  }

  // Whether it is known what the subject has: before, nothing is offered that may be theirs already.
  isKnown() {
    return !this.subject || this.own.position !== null;
  }

  choose(pool) {
    this.pool = pool;
    this.problem = null;
    this.#showPool();
    this.changed();
  }

  #showPool() {
    const pool = this.chosenPool();
    if (pool?.kind === "seated" && this.seats.pool !== pool.name) this.seats.load(pool.name);
  }

  // Takes a document of the campaign, unless a later one is known.
  #take(document) {
    if (this.campaign && !isLater(document.position, this.campaign.position) && document.position !== this.campaign.position) return;
    this.campaign = document;
    this.isPublic = Boolean(document.public);
    this.#wasEarly ||= document.state === "scheduled";
    // Before the opening nobody has anything.
    if (["draft", "scheduled"].includes(document.state)) this.own.position ??= document.position;
    this.#showPool();
  }

  async loadCampaign() {
    const had = this.token;
    const { ok, status, document } = await this.ask("GET", this.path);
    if (ok) { this.#take(document); return; }
    if (status === 404) { this.gone = "notFound"; return; }
    // It may be that another token came in the meantime.
    if ((status !== 401 && status !== 403) || had !== this.token) return;
    this.#forgetToken();
    if (had && this.isPublic) return this.loadCampaign();
    this.gone = had ? "ended" : "noAccess";
  }

  #loadCampaignSoon() {
    this.loadCampaign().then(this.changed).catch(() => {});
  }

  // Takes what the subject has: all of it with `whole`, else of the claims those that are new or changed.
  #takeOwn({ claims, holds, places, position, whole, more }) {
    if (this.own.position && isLater(this.own.position, position)) return;
    const known = new Map((whole ? [] : this.own.claims).concat(claims).map(claim => [`${claim.pool} ${claim.rank}`, claim]));
    const order = claim => this.campaign?.pools.findIndex(pool => pool.name === claim.pool) ?? 0;
    const all = [...known.values()].sort((one, other) => order(one) - order(other) || other.rank - one.rank);
    this.own = { claims: all, holds, places, position: more ? this.own.position : position };
    this.seats.noteHolds();
    this.tookOwn?.();
  }

  // Fetches what the subject has, where no stream says it.
  async #loadOwn() {
    if (!this.subject || !this.campaign) return;
    const subject = encodeURIComponent(this.subject);
    const { ok, document: has } = await this.ask("GET", `/v1/subjects/${subject}?campaign=${encodeURIComponent(this.name)}`);
    if (!ok) return;
    const own = has.campaigns.find(one => one.campaign === this.name) ?? { claims: [], holds: [] };
    for (let after = own.next ?? null, pages = 0; after !== null && pages < 100; pages++) {
      const { ok, document: page } = await this.ask("GET", `${this.path}/claims/${subject}?after=${after}`);
      if (!ok) return;
      own.claims.push(...page.claims);
      after = page.next;
    }
    const places = [];
    for (const pool of this.campaign.pools) {
      const waits = this.own.places.some(place => place.pool === pool.name) || pool.waiting > 0 || own.holds.some(hold => hold.offer && hold.units.some(unit => unit.pool === pool.name));
      if (!waits) continue;
      const { ok, document: place } = await this.ask("GET", `${this.path}/waitlist/${subject}?pool=${pool.name}`);
      if (ok) places.push(place);
    }
    this.#takeOwn({ claims: own.claims, holds: own.holds, places, position: has.position, whole: true });
  }

  // Waits until what the subject has is known as of a position.
  async catchUp(position) {
    for (let tries = 0; tries < 12 && this.link === "live" && position; tries++) {
      if (this.own.position && !isLater(position, this.own.position)) return;
      await pause(100);
    }
    await this.#loadOwn().catch(() => {});
  }

  catchUpSoon() {
    if (performance.now() - this.#caughtUp < 3000) return;
    this.#caughtUp = performance.now();
    this.#loadOwn().then(this.changed).catch(() => {});
  }

  #heard(event) {
    if (this.isOver) return;
    const data = JSON.parse(event.data);
    if (event.id) this.#last = event.id;
    if (event.name === "own") this.#takeOwn(data);
    if (event.name === "campaign") this.#loadCampaignSoon();
    if (event.name === "standing" && isLater(data.position, this.campaign.position)) {
      for (const { pool: name, left, waiting } of data.pools) {
        const pool = this.campaign.pools.find(pool => pool.name === name);
        if (pool) Object.assign(pool, { left, ...(waiting !== undefined && { waiting }) });
      }
      this.campaign.left = this.campaign.pools.reduce((sum, pool) => sum + pool.left, 0);
      this.campaign.position = data.position;
    }
    if (event.name === "standing") this.seats.apply(data);
    if (event.name === "reset") {
      this.#last = data.position;
      if (isLater(data.position, this.campaign.position)) this.#loadCampaignSoon();
      this.seats.reset(data.position);
    }
    if (event.name === "end") this.#loadCampaignSoon();
    this.changed();
  }

  // A stream is opened where something can change: not before the opening, and not behind other tabs for long.
  #wantsStream() {
    if (!this.campaign || this.gone || document.hidden) return false;
    if (!["open", "paused", "closed"].includes(this.phaseNow())) return false;
    // A map says from where on its changes are wanted.
    if (this.chosenPool()?.kind === "seated" && !this.seats.position) return false;
    return !this.#wasEarly || this.clock.now() > Date.parse(this.campaign.opens_at) + this.#late;
  }

  #told(how) {
    if (this.isOver) return;
    if (how === "live") this.link = "live";
    else if (how === "lost") this.link = "lost";
    else if (how !== "again") {
      this.link = "polling";
      if (!this.isKnown()) this.catchUpSoon();
    }
    if (["token_expired", "unauthorized", "forbidden"].includes(how)) this.#loadCampaignSoon();
    this.changed();
  }

  // Follows the events for as long as a stream is wanted.
  async #follow() {
    for (let fails = 0; !this.isOver;) {
      if (this.#isAway || !this.#wantsStream()) {
        await pause(500);
        continue;
      }
      const ending = new AbortController();
      this.#closeStream = () => ending.abort();
      try {
        const headers = { accept: "text/event-stream" };
        if (this.token) headers.authorization = `Bearer ${this.token}`;
        const last = this.#last ?? this.seats.position ?? this.campaign.position;
        if (last) headers["last-event-id"] = last;
        const answer = await fetch(`${this.server}${this.path}/events`, { headers, cache: "no-store", signal: ending.signal });
        if (!answer.ok) {
          const problem = await answer.json();
          this.#told(problem.outcome);
          // As many streams are open as may be: the page asks every few seconds instead.
          await pause(problem.outcome === "too_many_streams" ? random(20000, 40000) : random(2000, 5000));
          continue;
        }
        fails = 0;
        this.#told("live");
        await readEvents(answer, event => this.#heard(event), () => ending.abort());
        this.#told("again");
        await backOff(random(500, 1500));
      } catch {
        if (ending.signal.aborted) {
          this.#told("again");
          continue;
        }
        this.#told("lost");
        fails++;
        await backOff(Math.min(500 * 2 ** fails, 8000) * random(0.7, 1.3));
      }
    }
  }

  // Asks from time to time: often where no stream is open, seldom where one is.
  async #poll() {
    while (!this.isOver) {
      let wait = 5000;
      try {
        if (!this.gone) await this.loadCampaign();
        if (this.link === "lost" && !this.#wantsStream()) this.link = "polling";
        const streams = this.#wantsStream();
        // The stream says it first, if it comes.
        const tells = this.isKnown() ? this.link === "live" : streams && performance.now() - this.#begun < 3000;
        if (this.subject && this.campaign && !this.gone && !["draft", "scheduled"].includes(this.phaseNow()) && !tells) await this.#loadOwn();
        wait = !this.isKnown() ? 1000 : this.link === "live" ? 45000 : this.campaign?.ask_again_ms ?? 5000;
        if (this.phaseNow() === "scheduled") wait = Math.min(wait, Date.parse(this.campaign.opens_at) - this.clock.now() + random(300, 2500));
        else if (streams && this.link !== "live") wait = Math.max(wait, 2500);
      } catch {
        this.link = "lost";
      }
      if (this.isOver) return;
      this.changed();
      await awake(Math.max(wait, 300) * random(0.9, 1.1));
    }
  }
}

// Waits, or until somebody looks at the page again after sleep or another tab.
const awake = ms => Promise.race([pause(ms), new Promise(done => {
  const looked = () => { if (!document.hidden) { document.removeEventListener("visibilitychange", looked); done(); } };
  document.addEventListener("visibilitychange", looked);
  addEventListener("online", done, { once: true });
  addEventListener("pageshow", event => event.persisted && done(), { once: true });
})]);
