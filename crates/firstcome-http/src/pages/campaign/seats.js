// The seat map of the chosen pool, and the basket: seats that are held for a while.
const hall = {
  map: null, pool: null, position: null, late: null, loading: Promise.resolve(), had: new Map(), gaveBack: new Set(), areas: [], standing: [],

  start() {
    this.map = new SeatMap(at("map"), seat => this.toggle(seat), seat => this.point(seat));
    at("zoomIn").onclick = () => this.map.zoom(1.5);
    at("zoomOut").onclick = () => this.map.zoom(1 / 1.5);
    at("zoomAll").onclick = () => this.map.show();
    at("giveBack").onclick = () => this.baskets().forEach(hold => this.step(hold, "release", {}));
    at("best").onsubmit = event => {
      event.preventDefault();
      const grade = this.map.grades[at("bestGrades").value];
      const pick = { pool: this.pool, best: Number(at("bestNumber").value) || 1 };
      if (grade) pick.grade = grade.grade;
      if (grade && grade.price !== null) [pick.price_minor, pick.currency] = [grade.price, grade.currency];
      this.take({ ...pick });
    };
  },

  // Fetches the map of a pool, and adds what changed while it was on its way. One fetch at a time.
  load(pool) {
    this.pool = pool;
    this.loading = this.loading.then(() => this.fetch(pool));
    return this.loading;
  },

  async fetch(pool) {
    let answer = null;
    while (!answer) {
      if (this.pool !== pool) return;
      this.late = [];
      answer = await ask("GET", `${PATH}/pools/${encodeURIComponent(pool)}/seats`).catch(() => null);
      if (!answer) await backOff(random(1000, 3000));
    }
    const { ok, document: map } = answer;
    const missed = this.late;
    this.late = null;
    if (!ok) return;
    this.position = map.position;
    this.areas = map.areas;
    this.standing = map.area_standing;
    this.map.load(map);
    missed.filter(change => isLater(change.position, map.position)).forEach(change => this.apply(change));
    render();
  },

  apply(change) {
    if (this.late) { this.late.push(change); return; }
    for (const { pool, seats = {}, areas = [] } of change.pools) {
      if (pool !== this.pool) continue;
      for (const [letter, numbers] of Object.entries(seats)) for (const nth of numbers) this.map.letters[nth] = letter;
      for (const [nth, ...counts] of areas) this.standing[nth] = counts;
    }
    if (this.pointed) this.point(this.pointed);
    this.map.draw();
  },

  // The live holds of this subject that are no offers.
  baskets() {
    return state.own.holds.filter(hold => !hold.offer);
  },

  point(seat) {
    this.pointed = seat;
    set("seat", seat ? this.describe(seat) : "");
  },

  describe(seat) {
    const look = this.map.look(seat);
    const is = look === "taken" && this.map.letters[seat.number] === "-" ? "notForSale" : look;
    const row = seat.row ? say("rowIs", { row: seat.row }) : "";
    const price = seat.grade.price === null ? "" : money(seat.grade.price, seat.grade.currency);
    return [seat.name, seat.section, row, seat.grade.grade, price, say(is)].filter(Boolean).join(", ");
  },

  toggle(seat) {
    this.point(seat);
    const look = this.map.look(seat);
    if (look === "asking" || !canAct()) return;
    const hold = this.baskets().find(hold => hold.units.some(unit => unit.unit === seat.name && unit.pool === this.pool));
    if (hold) this.step(hold, "release", { units: [seat.name], pool: this.pool }, [seat.name]);
    else if (look === "free") this.take({ pool: this.pool, units: [seat.name] }, [seat.name]);
    else state.problem = refusal({ outcome: "unit_taken" });
    render();
  },

  // Takes units: into the basket that there is, or into a new one.
  take(pick, names = []) {
    const hold = this.baskets()[0];
    if (hold) return this.step(hold, "add", { picks: [pick] }, names);
    const body = { id: newId(), picks: [pick] };
    return this.send(`${PATH}/holds`, body, undefined, names);
  },

  step(hold, verb, body, names = []) {
    if (verb === "release") this.gaveBack.add(hold.hold);
    return this.send(`${PATH}/holds/${encodeURIComponent(hold.hold)}/${verb}`, body, newId(), names);
  },

  async send(path, body, id, names) {
    state.problem = null;
    names.forEach(name => this.map.asking.add(name));
    this.map.draw();
    try {
      const answer = await command(path, body, id);
      if (!answer.ok) {
        state.problem = refusal(answer.document);
        // The map was behind: what is taken is shown at once.
        for (const unit of answer.document.units ?? []) {
          const seat = this.map.all.find(seat => seat.name === unit.unit);
          if (seat && answer.document.outcome === "unit_taken") this.map.letters[seat.number] = "h";
        }
      }
      await catchUp(answer.document.position);
    } finally {
      names.forEach(name => this.map.asking.delete(name));
      this.map.draw();
      if (this.pointed) this.point(this.pointed);
      render();
    }
  },

  // Notes what is held now, and says what came of what is not held any more.
  noteHolds() {
    const now = new Map(this.baskets().map(hold => [hold.hold, hold]));
    for (const id of this.had.keys()) {
      const paid = state.own.claims.some(claim => claim.hold === id);
      if (!now.has(id) && !paid && !this.gaveBack.has(id)) state.problem = say("expired");
    }
    this.had = now;
    const units = [...now.values()].flatMap(hold => hold.units).concat(state.own.claims.filter(claim => !claim.cancelled));
    this.map.mine = new Set(units.filter(unit => unit.unit && unit.pool === this.pool).map(unit => unit.unit));
    this.map.draw();
    if (this.pointed) this.point(this.pointed);
  },
};
