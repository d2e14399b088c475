// The seats of a campaign: the map of the page for people, with another choice: seats to block, unblock and move.
function seatsView(name) {
  const head = campaignHead(name, "/seats");
  const canvas = make("canvas", { id: "map", tabindex: "0", role: "application", "aria-label": say("mapLabel") });
  const pointed = make("p", { class: "soft", id: "seat", role: "status" }), chosen = make("p", { id: "chosen" }, say("chooseSeats"));
  const zoomer = (id, text, label, then) => make("button", { type: "button", id, class: "plain", "aria-label": label, onclick: then }, text);
  let map = null, pool = null, position = null, ending = null;
  const picked = [];
  const box = make("div", { id: "mapBox" }, canvas, make("div", { id: "zoom" },
    zoomer("zoomIn", "+", say("zoomIn"), () => map.zoom(1.5)), zoomer("zoomOut", "−", say("zoomOut"), () => map.zoom(1 / 1.5)), zoomer("zoomAll", "⤢", say("zoomAll"), () => map.show())));
  const pools = make("div", { class: "row" }), legend = make("ul", { class: "legend", id: "counts" });
  const letter = seat => map.letters[seat.number] ?? "-";
  const describe = seat => [seat.section, seat.row && `${seat.row}`, seat.name, word("seatStates", letter(seat)), seat.grade.grade].filter(Boolean).join(" · ");

  const send = (verb, question, body, what) => askAndAct({ title: question, field: { label: say("why") }, what, method: "POST", path: `${path(name)}/pools/${pool}/${verb}`, body: reason => ({ ...body, reason }) })
    .then(done => { if (done?.ok) { clear(); load(); } });
  const names = () => picked.map(seat => seat.name);
  const many = seats => seats.length === 1 ? seats[0] : number(seats.length);
  const buttons = {
    block: make("button", { type: "button", id: "block", onclick: () => send("block", say("askBlock", { n: many(names()) }), { units: names() }, say("block")) }, say("block")),
    unblock: make("button", { type: "button", id: "unblock", onclick: () => send("unblock", say("askUnblock", { n: many(names()) }), { units: names() }, say("unblock")) }, say("unblock")),
    move: make("button", { type: "button", id: "move", onclick: () => send("move", say("askMove", { from: names()[0], to: names()[1] }), { from: names()[0], to: names()[1] }, say("move")) }, say("move")),
    clear: make("button", { type: "button", id: "clear", class: "plain", onclick: () => clear() }, say("clear")),
  };

  function show() {
    const letters = picked.map(letter);
    buttons.block.disabled = picked.length === 0 || letters.some(one => one !== ".");
    buttons.unblock.disabled = picked.length === 0 || letters.some(one => one !== "b");
    buttons.move.disabled = picked.length !== 2 || !"hc".includes(letters[0]) || letters[1] !== ".";
    buttons.clear.disabled = picked.length === 0;
    set(chosen, picked.length ? say("selected", { n: number(picked.length), names: names().slice(0, 20).join(", ") + (picked.length > 20 ? " …" : "") }) : say("chooseSeats"));
    const counts = {};
    for (const seat of map.all) counts[letter(seat)] = (counts[letter(seat)] ?? 0) + 1;
    fill(legend, [counts, pool], () => [...map.grades.map((grade, nth) => {
      const mark = make("canvas", { width: "14", height: "14", "aria-hidden": "true" }), pen = mark.getContext("2d");
      pen.fillStyle = gradeColour(canvas, nth);
      pen.fillRect(0, 0, 14, 14);
      return make("li", {}, mark, ` ${grade.grade || "–"}${grade.price === null ? "" : ` ${money(grade.price, grade.currency)}`}`);
    }), ...Object.entries(counts).map(([one, count]) => make("li", { "data-letter": one }, `${word("seatStates", one)}: ${number(count)}`))]);
    map.draw();
  }

  function clear() {
    picked.length = 0;
    map.mine.clear();
    show();
  }

  function choose(seat) {
    if (!mayOperate(name)) return;
    const known = picked.findIndex(one => one.name === seat.name);
    if (known >= 0) picked.splice(known, 1);
    else if (picked.length < 500) picked.push(seat);
    map.mine = new Set(names());
    set(pointed, describe(seat));
    show();
  }

  async function load() {
    const document = await read(`${path(name)}/pools/${pool}/seats`);
    position = document.position;
    map.load(document);
    const known = names();
    picked.splice(0, picked.length, ...map.all.filter(seat => known.includes(seat.name)).sort((a, b) => known.indexOf(a.name) - known.indexOf(b.name)));
    show();
  }

  function heard(event) {
    const data = JSON.parse(event.data);
    if (event.name === "reset") { load().catch(() => {}); return; }
    if (event.name !== "standing") return;
    position = data.position;
    const found = data.pools.find(one => one.pool === pool);
    for (const [status, numbers] of Object.entries(found?.seats ?? {})) for (const seat of numbers) map.letters[seat] = status;
    show();
  }

  // Follows the changes of the map until the view is left.
  async function follow(alive) {
    while (alive()) {
      ending = new AbortController();
      try {
        const answer = await fetch(`.${path(name)}/events`, { headers: { authorization: `Bearer ${key}`, accept: "text/event-stream", "last-event-id": position }, cache: "no-store", signal: ending.signal });
        if (answer.ok) await readEvents(answer, heard, () => ending.abort());
        else await answer.text();
      } catch { /* again in a moment */ }
      if (!alive()) return;
      await pause(random(800, 1600));
      await load().catch(() => {});
    }
  }

  return {
    title: `${name} · ${say("seats")}`,
    content: [...head.content, pools, box, pointed, legend, ...(mayOperate(name) ? [chosen, make("div", { class: "row" }, ...Object.values(buttons)), make("p", { class: "soft" }, say("moveNote"))] : [])],
    every: 3000,
    stop: () => ending?.abort(),
    async refresh(alive) {
      const one = await read(path(name));
      head.show(one);
      const seated = one.pools.filter(other => other.kind === "seated").map(other => other.name);
      if (map) return;
      if (seated.length === 0) { box.hidden = true; set(chosen, say("noSeats")); return; }
      map = new SeatMap(canvas, choose, seat => { set(pointed, seat ? describe(seat) : ""); canvas.style.cursor = seat ? "pointer" : ""; });
      pool = seated[0];
      pools.replaceChildren(...(seated.length < 2 ? [] : seated.map(other => make("button", { type: "button", class: "plain", onclick: () => { pool = other; clear(); map.all = []; load(); } }, other))));
      await load();
      follow(alive);
    },
  };
}
