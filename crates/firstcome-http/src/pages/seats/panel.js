// The seats of the chosen pool: the map, the best seats, and the basket: seats that are held for a while.
const unitName = unit => unit.unit ?? unit.area ?? unit.pool;

// The sentence on top.
function headline(session) {
  const { campaign, phase } = session;
  if (!campaign || session.checking || (phase === "open" && !session.isKnown())) return say("checking");
  if (phase === "open" && campaign.left === 0 && campaign.pools.every(pool => pool.left === 0)) return say("soldOut");
  return say(phase);
}

class SeatPanel {
  pool = null;
  position = null;
  areas = [];
  standing = [];
  #late = null;
  #loading = Promise.resolve();
  #had = new Map();
  #gaveBack = new Set();
  #pointed = null;

  // Fills an element with it. `payLink` gives the address where a hold is paid, if there is one; else `pay` is called.
  constructor(root, session, { payLink = () => null, pay } = {}) {
    Object.assign(this, { root, session, payLink, pay });
    session.seats = this;
    this.#build();
    this.map = new SeatMap(this.at.map, seat => this.#toggle(seat), seat => this.#point(seat));
    this.at.zoomIn.onclick = () => this.map.zoom(1.5);
    this.at.zoomOut.onclick = () => this.map.zoom(1 / 1.5);
    this.at.zoomAll.onclick = () => this.map.show();
    this.at.giveBack.onclick = () => this.baskets().forEach(hold => this.#step(hold, "release", {}));
    this.at.best.onsubmit = event => {
      event.preventDefault();
      const grade = this.map.grades[this.at.bestGrades.value];
      const pick = { pool: this.pool, best: Number(this.at.bestNumber.value) || 1 };
      if (grade) pick.grade = grade.grade;
      if (grade && grade.price !== null) [pick.price_minor, pick.currency] = [grade.price, grade.currency];
      this.#take(pick);
    };
  }

  #build() {
    const at = this.at = {};
    const part = (tag, id, attributes, ...children) => at[id] = make(tag, { id, ...attributes }, ...children);
    const button = (id, style, text, more) => part("button", id, { type: "button", class: style, ...more }, text);
    const pay = this.pay ? button("pay", "main", "", { hidden: true, onclick: () => this.pay(this.baskets()[0]) }) : part("a", "pay", { class: "main", hidden: true });
    this.root.replaceChildren(
      part("h2", "hallTitle"),
      make("div", { id: "floor" },
        make("div", { id: "mapBox" },
          part("canvas", "map", { tabindex: "0", role: "application" }),
          make("div", { id: "zoom" }, button("zoomIn", "plain", "+"), button("zoomOut", "plain", "−"), button("zoomAll", "plain", "⤢")),
          part("p", "seat", { role: "status" })),
        part("ul", "legend"),
        part("div", "areas"),
        part("form", "best", {},
          make("label", {}, part("span", "bestCount"), " ", part("input", "bestNumber", { type: "number", min: "1", max: "10", value: "2", inputmode: "numeric" })),
          make("label", {}, part("span", "bestGrade"), " ", part("select", "bestGrades")),
          part("button", "bestGo", { disabled: true }))),
      make("section", { id: "basket", class: "card", "aria-labelledby": "basketTitle" },
        part("h2", "basketTitle"),
        part("p", "basketTime", { role: "timer" }),
        part("ul", "basketUnits"),
        part("p", "basketSum"),
        pay,
        part("p", "payNote", { hidden: true }),
        button("giveBack", "plain", "", { hidden: true })));
  }

  // Fetches the map of a pool, and adds what changed while it was on its way. One fetch at a time.
  load(pool) {
    this.pool = pool;
    this.#loading = this.#loading.then(() => this.#fetch(pool));
    return this.#loading;
  }

  async #fetch(pool) {
    const { session } = this;
    let answer = null;
    while (!answer) {
      if (this.pool !== pool || session.isOver) return;
      this.#late = [];
      answer = await session.ask("GET", `${session.path}/pools/${encodeURIComponent(pool)}/seats`).catch(() => null);
      if (answer && !answer.ok && answer.document.retry) answer = null;
      if (!answer) await backOff(random(1000, 3000));
    }
    const { ok, document: map } = answer;
    const missed = this.#late;
    this.#late = null;
    if (!ok) return;
    this.position = map.position;
    this.areas = map.areas;
    this.standing = map.area_standing;
    this.map.load(map);
    missed.filter(change => isLater(change.position, map.position)).forEach(change => this.apply(change));
    session.changed();
  }

  apply(change) {
    if (this.#late) { this.#late.push(change); return; }
    for (const { pool, seats = {}, areas = [] } of change.pools) {
      if (pool !== this.pool) continue;
      for (const [letter, numbers] of Object.entries(seats)) for (const nth of numbers) this.map.letters[nth] = letter;
      for (const [nth, ...counts] of areas) this.standing[nth] = counts;
    }
    this.#pointAgain();
    this.map.draw();
  }

  // The server says that its changes do not follow on what is known.
  reset(position) {
    if (this.pool && (!this.position || isLater(position, this.position))) this.load(this.pool);
  }

  stop() {
    this.map.stop();
  }

  // The live holds of this subject that are no offers.
  baskets() {
    return this.session.own.holds.filter(hold => !hold.offer);
  }

  #point(seat) {
    this.#pointed = seat;
    set(this.at.seat, seat ? this.#describe(seat) : "");
  }

  #pointAgain() {
    if (this.#pointed) this.#point(this.#pointed);
  }

  #describe(seat) {
    const look = this.map.look(seat);
    const is = look === "taken" && this.map.letters[seat.number] === "-" ? "notForSale" : look;
    const row = seat.row ? say("rowIs", { row: seat.row }) : "";
    const price = seat.grade.price === null ? "" : money(seat.grade.price, seat.grade.currency);
    return [seat.name, seat.section, row, seat.grade.grade, price, say(is)].filter(Boolean).join(", ");
  }

  #toggle(seat) {
    this.#point(seat);
    const look = this.map.look(seat);
    if (look === "asking" || !this.session.canAct()) return;
    const hold = this.baskets().find(hold => hold.units.some(unit => unit.unit === seat.name && unit.pool === this.pool));
    if (hold) this.#step(hold, "release", { units: [seat.name], pool: this.pool }, [seat.name]);
    else if (look === "free") this.#take({ pool: this.pool, units: [seat.name] }, [seat.name]);
    else this.#refuse({ outcome: "unit_taken", units: [{ pool: this.pool, unit: seat.name }] });
    this.session.changed();
  }

  #refuse(problem) {
    this.session.problem = refusal(problem);
    this.session.refused?.(problem);
  }

  // Takes units: into the basket that there is, or into a new one.
  #take(pick, names = []) {
    const hold = this.baskets()[0];
    if (hold) return this.#step(hold, "add", { picks: [pick] }, names);
    return this.send(`${this.session.path}/holds`, { id: newId(), picks: [pick] }, undefined, names);
  }

  #step(hold, verb, body, names = []) {
    if (verb === "release") this.#gaveBack.add(hold.hold);
    return this.send(`${this.session.path}/holds/${encodeURIComponent(hold.hold)}/${verb}`, body, newId(), names);
  }

  // Sends a command of holds; the seats of these names are shown as asked for until its answer is there.
  async send(path, body, id, names = []) {
    const { session } = this;
    session.problem = null;
    names.forEach(name => this.map.asking.add(name));
    this.map.draw();
    try {
      const answer = await session.command(path, body, id);
      if (!answer) return;
      if (!answer.ok) {
        this.#refuse(answer.document);
        // The map was behind: what is taken is shown at once.
        for (const unit of answer.document.units ?? []) {
          const seat = this.map.all.find(seat => seat.name === unit.unit);
          if (seat && answer.document.outcome === "unit_taken") this.map.letters[seat.number] = "h";
        }
      }
      await session.catchUp(answer.document.position);
    } finally {
      names.forEach(name => this.map.asking.delete(name));
      this.map.draw();
      this.#pointAgain();
      session.changed();
    }
  }

  // Notes what is held now, and says what came of what is not held any more.
  noteHolds() {
    const { session } = this;
    const now = new Map(this.baskets().map(hold => [hold.hold, hold]));
    for (const id of this.#had.keys()) {
      const paid = session.own.claims.some(claim => claim.hold === id);
      if (!now.has(id) && !paid && !this.#gaveBack.has(id)) session.problem = say("expired");
    }
    this.#had = now;
    const units = [...now.values()].flatMap(hold => hold.units).concat(session.own.claims.filter(claim => !claim.cancelled));
    this.map.mine = new Set(units.filter(unit => unit.unit && unit.pool === this.pool).map(unit => unit.unit));
    this.map.draw();
    this.#pointAgain();
  }

  render() {
    const { at, map, session } = this;
    const pool = session.chosenPool();
    const seated = pool?.kind === "seated" && !session.gone;
    show(this.root, seated);
    if (!seated) return;
    set(at.hallTitle, say("hall"));
    for (const id of ["zoomIn", "zoomOut", "zoomAll"]) at[id].setAttribute("aria-label", say(id));
    at.map.setAttribute("aria-label", say("mapLabel"));
    const acts = session.canAct();
    // Before the map is here there is nothing to explain.
    if (this.position) this.#renderLegend();
    fill(at.areas, [this.areas, this.standing, acts], () => this.areas.map((area, nth) => {
      const [left] = this.standing[nth];
      const text = [area.name, area.price_minor === null ? "" : money(area.price_minor, area.currency), say("poolLeft", { left: number(left) })].filter(Boolean).join(" · ");
      const add = make("button", { type: "button", class: "plain", "aria-label": `${say("add")}: ${area.name}`, disabled: !acts || left === 0 || !area.for_sale, onclick: () => this.#take({ pool: this.pool, area: area.name, quantity: 1 }) }, say("add"));
      return make("div", { class: "row" }, make("span", {}, text), add);
    }));
    set(at.bestCount, say("bestCount"));
    set(at.bestGrade, say("bestGrade"));
    set(at.bestGo, say("bestGo"));
    at.bestGo.disabled = !acts || pool.left === 0;
    fill(at.bestGrades, map.grades, () => [make("option", { value: "" }, say("anyGrade")), ...map.grades.filter(grade => grade.grade).map(grade => make("option", { value: grade.nth }, grade.grade))]);
    this.#renderBasket();
    this.#pointAgain();
  }

  #renderLegend() {
    const { at, map } = this;
    const dark = isDark(at.map);
    const chip = (style, size = 16) => {
      const box = make("canvas", { width: 16, height: 16, "aria-hidden": "true" });
      const pen = box.getContext("2d");
      pen.fillStyle = style;
      pen.fillRect((16 - size) / 2, (16 - size) / 2, size, size);
      return box;
    };
    const grade = ({ grade, price, currency, nth }) => make("li", {}, chip(gradeColour(at.map, nth)), [grade, price === null ? "" : money(price, currency)].filter(Boolean).join(" ") || say("free"));
    fill(at.legend, [map.grades, dark], () => [...map.grades.map(grade), make("li", {}, chip(colour(at.map, "--taken"), 9), say("taken")), make("li", {}, chip(colour(at.map, "--mine")), say("mine"))]);
  }

  #renderBasket() {
    const { at } = this;
    const holds = this.baskets();
    set(at.basketTitle, say("basket"));
    fill(at.basketUnits, holds, () => this.#basketRows(holds));
    const units = holds.flatMap(hold => hold.units).filter(unit => unit.state === "held");
    const priced = units.filter(unit => unit.price_minor !== undefined);
    const sum = priced.reduce((all, unit) => all + unit.price_minor * (unit.quantity ?? 1), 0);
    const one = new Set(priced.map(unit => unit.currency)).size === 1;
    set(at.basketSum, units.length === 0 ? say("basketEmpty") : one ? say("sum", { sum: money(sum, priced[0].currency) }) : "");
    const link = holds[0] && this.payLink(holds[0].hold);
    const payable = Boolean(link) || Boolean(this.pay && holds[0]);
    show(at.pay, payable);
    if (link) at.pay.href = link;
    if (payable) set(at.pay, say("pay"));
    show(at.payNote, Boolean(holds[0]) && !payable);
    if (holds[0]) set(at.payNote, say("payNote", { hold: holds[0].hold }));
    show(at.giveBack, units.length > 0);
    set(at.giveBack, say("giveBack"));
    this.renderTime();
  }

  #basketRows(holds) {
    return holds.flatMap(hold => hold.units.filter(unit => unit.state === "held").map(unit => {
      const price = unit.price_minor === undefined ? "" : money(unit.price_minor * (unit.quantity ?? 1), unit.currency);
      const shown = [unitName(unit), unit.quantity > 1 ? `× ${unit.quantity}` : "", unit.grade, price].filter(Boolean).join(" · ");
      const back = unit.unit
        ? { units: [unit.unit], pool: unit.pool }
        : { picks: [{ pool: unit.pool, quantity: 1, ...(unit.area && { area: unit.area }) }] };
      const drop = make("button", { type: "button", class: "plain", "aria-label": say("giveBackOne", { name: unitName(unit) }), onclick: () => this.#step(hold, "release", back, unit.unit ? [unit.unit] : []) }, "×");
      return make("li", {}, make("span", {}, shown), drop);
    }));
  }

  // What goes on with time alone: how long the basket is held.
  renderTime() {
    const { at, session } = this;
    const hold = this.baskets()[0];
    const left = hold && Date.parse(hold.expires_at) - session.clock.now();
    set(at.basketTime, !hold ? "" : left > 0 ? say("basketLeft", { time: span(left) }) : say("checking"));
    at.basketTime.classList.toggle("soon", Boolean(hold) && left < 60000);
    // What the server was to say by now is asked for.
    if (hold && left < -1500) session.catchUpSoon();
  }
}
