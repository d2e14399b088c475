// The seats as an element that any page can have: <firstcome-seats server="ADDRESS" campaign="NAME">.
// Its token is a property and never an attribute: attributes stand in the page, for every script and every copy of it.

// The module can be loaded where there are no elements, as on a server that writes pages.
const Base = globalThis.HTMLElement ?? class {};

class FirstcomeSeats extends Base {
  static observedAttributes = ["server", "campaign", "pool", "lang", "theme"];
  static #sheet = null;
  #token = null;
  #session = null;
  #panel = null;
  #timer = null;
  #isDue = false;
  #told = {};

  // The subject token; nothing, and the seats are only looked at. It cannot be read.
  set token(token) {
    const session = this.#session;
    this.#token = token ?? null;
    // Another token of the same subject changes nothing that is shown.
    if (session && token && !session.gone && session.subject === subjectOf(token)) session.renew(token);
    else this.#begin();
  }

  // What the subject holds now, without offers of a waitlist, and what is theirs.
  get holds() {
    return structuredClone(this.#panel?.baskets() ?? []);
  }

  get claims() {
    return structuredClone(this.#session?.own.claims ?? []);
  }

  // `live`, `polling` or `lost`.
  get link() {
    return this.#session?.link ?? "polling";
  }

  connectedCallback() {
    // Set before this module was loaded, it is a plain property, which hides the one of the class.
    if (Object.hasOwn(this, "token")) {
      const { token } = this;
      delete this.token;
      this.token = token;
    }
    this.#begin();
  }

  disconnectedCallback() {
    this.#end();
  }

  attributeChangedCallback(name, before, now) {
    if (before === now || !this.isConnected) return;
    if (name === "server" || name === "campaign") this.#begin();
    if (!this.#session) return;
    if (name === "pool") this.#session.choose(now);
    if (name === "lang" || name === "theme") this.#restyle();
  }

  // Begins anew, once however much is set at one time.
  #begin() {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#end();
      if (this.isConnected && this.getAttribute("campaign")) this.#start();
    });
  }

  #end() {
    clearInterval(this.#timer);
    this.#session?.stop();
    this.#panel?.stop();
    this.#session = this.#panel = null;
  }

  #start() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    if (!FirstcomeSeats.#sheet) {
      FirstcomeSeats.#sheet = new CSSStyleSheet();
      FirstcomeSeats.#sheet.replaceSync(STYLE);
    }
    root.adoptedStyleSheets = [FirstcomeSeats.#sheet];
    const part = (tag, id, attributes) => make(tag, { id, hidden: true, ...attributes });
    const parts = {
      status: part("p", "status", { role: "status" }), countdown: part("div", "countdown", { role: "timer" }), opening: part("p", "opening"),
      problem: part("p", "problem", { role: "alert" }), hall: part("section", "hall", { "aria-labelledby": "hallTitle" }), link: part("p", "link"),
    };
    root.replaceChildren(...Object.values(parts));
    const server = new URL(this.getAttribute("server") ?? "/", document.baseURI).href.replace(/\/+$/, "");
    const session = this.#session = new Session(
      { server, name: this.getAttribute("campaign"), token: this.#token, pool: this.getAttribute("pool"), seatedOnly: true },
      {
        changed: () => { if (session === this.#session) this.#render(parts); },
        tookOwn: () => { if (session === this.#session) this.#tellBasket(); },
        forgot: () => {
          if (session !== this.#session) return;
          this.#token = null;
          this.#tell("tokenneeded");
        },
        refused: problem => this.#tell("refused", structuredClone(problem)),
      },
    );
    this.#told = {};
    this.#panel = new SeatPanel(parts.hall, session, { pay: hold => this.#tell("pay", { hold: structuredClone(hold) }) });
    this.#restyle();
    session.start();
    const pending = session.pending();
    if (pending) this.#panel.send(pending.path, pending.body, pending.id);
    this.#timer = setInterval(() => this.#renderTime(parts), 250);
  }

  // The language is that of the page around it; all such elements of a page have one.
  #restyle() {
    language = spoken([this.closest("[lang]")?.lang, ...navigator.languages]);
    this.shadowRoot.querySelector("#hall").lang = language;
    this.#panel.map.draw();
    this.#session.changed();
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  // Tells something only where it is not what was told before.
  #tellOnce(name, detail, told = [detail]) {
    const key = JSON.stringify(told);
    if (this.#told[name] === key) return;
    this.#told[name] = key;
    this.#tell(name, detail);
  }

  #tellBasket() {
    const { holds, claims } = this;
    // The fields of a document have no order.
    const plain = [
      holds.map(({ hold, expires_at, units }) => [hold, expires_at, units.map(unit => [unit.pool, unit.unit, unit.area, unit.quantity, unit.state])]),
      claims.map(({ pool, rank, unit, cancelled }) => [pool, rank, unit, Boolean(cancelled)]),
    ];
    this.#tellOnce("basket", { holds, claims }, plain);
  }

  #status() {
    const session = this.#session;
    if (session.gone === "notFound") return say("noCampaign");
    if (session.gone) return say("logIn");
    if (session.campaign && !session.chosenPool()) return say("noSeats");
    // That it is open is seen.
    const text = headline(session);
    if (session.phase !== "open" || text !== say("open")) return text;
    return session.subject ? "" : say("logIn");
  }

  #render(parts) {
    const session = this.#session;
    session.phase = session.phaseNow();
    const { campaign, gone, link, phase, problem } = session;
    const status = this.#status();
    show(parts.status, Boolean(status));
    set(parts.status, status);
    const counting = phase === "scheduled" && !gone;
    show(parts.countdown, counting);
    show(parts.opening, counting);
    if (counting) set(parts.opening, say("openingAt", { date: moment(campaign.opens_at), zone: zone() }));
    show(parts.problem, Boolean(problem));
    set(parts.problem, problem ?? "");
    this.#panel.render();
    show(parts.link, !gone);
    set(parts.link, say({ live: "live", lost: "lost" }[link] ?? "polling"));
    this.#tellOnce("link", { link });
    this.#renderTime(parts);
  }

  #renderTime(parts) {
    const session = this.#session;
    if (!session?.campaign) return;
    if (session.phaseNow() !== session.phase) { this.#render(parts); return; }
    if (session.phase === "scheduled") set(parts.countdown, span(Date.parse(session.campaign.opens_at) - session.clock.now()));
    this.#panel.renderTime();
  }
}

if (globalThis.customElements && !customElements.get("firstcome-seats")) customElements.define("firstcome-seats", FirstcomeSeats);

export { FirstcomeSeats, WORDS as words };
