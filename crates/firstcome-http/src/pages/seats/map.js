// The seat map: where seats are, drawing them on a canvas, and finding them again.
const PALETTE = {
  light: ["#1d4ed8", "#047857", "#7e22ce", "#b45309", "#0e7490", "#be185d", "#4d7c0f", "#4338ca"],
  dark: ["#7aa7ff", "#4ade80", "#d8a4ff", "#fbbf24", "#4dd6ee", "#ff8fc4", "#bef264", "#a5b4fc"],
};
// Whether an element is shown dark: as the browser is set, unless its host says `theme`.
function isDark(element) {
  const theme = element.getRootNode().host?.getAttribute("theme");
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const colour = (element, name) => getComputedStyle(element).getPropertyValue(name).trim();
const gradeColour = (element, nth) => colour(element, `--grade-${nth % 8 + 1}`) || PALETTE[isDark(element) ? "dark" : "light"][nth % 8];

// Gives the seats of a map document by their numbers, with places on a plane; a seat is one wide.
function seatsOf(map) {
  const seats = [], grades = new Map();
  const of = (value, nth) => (Array.isArray(value) ? value[nth] : value);
  let y = 0, section = null;
  const placed = map.rows.some(row => [row.x, row.y].flat().some(Boolean));
  for (const row of map.rows) {
    if (section !== null && section !== row.section) y += 1.5;
    section = row.section;
    row.names.forEach((rest, nth) => {
      const grade = of(row.grade, nth) ?? "";
      const price = of(row.price_minor, nth) ?? null;
      const key = `${grade}\n${price}`;
      if (!grades.has(key)) grades.set(key, { nth: grades.size, grade, price, currency: of(row.currency, nth) });
      const number = row.seats ? row.seats[nth] : row.first + nth;
      const x = placed ? of(row.x, nth) ?? 0 : (nth - (row.names.length - 1) / 2) * 1.35;
      const seat = { number, name: row.prefix + rest, short: of(row.number, nth) ?? rest, row: row.row, section: row.section, grade: grades.get(key), x, y: placed ? of(row.y, nth) ?? 0 : y };
      seats[number] = seat;
    });
    y += 1.5;
  }
  const all = seats.filter(Boolean);
  if (placed) {
    // The smallest step between neighbours of a row becomes a little more than a seat.
    let step = Infinity;
    for (let nth = 1; nth < all.length; nth++) {
      const far = Math.hypot(all[nth].x - all[nth - 1].x, all[nth].y - all[nth - 1].y);
      if (far > 0) step = Math.min(step, far);
    }
    if (Number.isFinite(step)) all.forEach(seat => { seat.x /= step / 1.35; seat.y /= step / 1.35; });
  }
  return { seats, all, grades: [...grades.values()] };
}

// Height of the buttons on the map.
const BUTTONS = 56;

class SeatMap {
  constructor(canvas, chosen, pointed) {
    Object.assign(this, { canvas, chosen, pointed, seats: [], all: [], grades: [], letters: [], mine: new Set(), asking: new Set(), cursor: null, scale: 1, dx: 0, dy: 0, fit: 1, frames: [] });
    this.ending = new AbortController();
    const resized = new ResizeObserver(() => { this.measure(); this.show(); });
    resized.observe(canvas);
    this.ending.signal.addEventListener("abort", () => resized.disconnect());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(), { signal: this.ending.signal });
    this.gestures();
    this.keys();
  }

  load(map) {
    const first = this.all.length === 0;
    Object.assign(this, seatsOf(map));
    this.letters = [...map.standing];
    this.cursor = this.cursor && this.all.find(seat => seat.name === this.cursor.name) || null;
    this.measure();
    if (first) this.show();
    this.draw();
  }

  measure() {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.canvas.width = clientWidth * this.ratio;
    this.canvas.height = clientHeight * this.ratio;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const seat of this.all) {
      left = Math.min(left, seat.x); right = Math.max(right, seat.x);
      top = Math.min(top, seat.y); bottom = Math.max(bottom, seat.y);
    }
    // Names of rows stand at the left; the buttons at the top have room of their own.
    this.box = { left: left - 2, right: right + 1, top: top - 1, bottom: bottom + 1 };
    this.fit = Math.min(clientWidth / (right - left + 3), (clientHeight - BUTTONS) / (bottom - top + 2), 40);
  }

  // Ends what goes on without anybody asking.
  stop() {
    this.ending.abort();
  }

  // Shows all of it.
  show() {
    if (this.all.length === 0) return;
    const { left, right, top, bottom } = this.box;
    this.scale = this.fit;
    this.dx = this.canvas.clientWidth / 2 - this.scale * (left + right) / 2;
    this.dy = (this.canvas.clientHeight + BUTTONS) / 2 - this.scale * (top + bottom) / 2;
    this.draw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(Math.max(this.scale * factor, this.fit * 0.8), Math.max(this.fit, 48));
    this.dx = x - (x - this.dx) * scale / this.scale;
    this.dy = y - (y - this.dy) * scale / this.scale;
    this.scale = scale;
    this.draw();
  }

  // Draws with the next frame of the screen, once however often it is asked.
  draw() {
    this.due ??= requestAnimationFrame(() => {
      this.due = null;
      const begun = performance.now();
      this.paint();
      this.frames.push(performance.now() - begun);
      if (this.frames.length > 240) this.frames.shift();
    });
  }

  // What a seat looks like: `free`, `taken`, `mine` or `asking`.
  look(seat) {
    if (this.asking.has(seat.name)) return "asking";
    if (this.mine.has(seat.name)) return "mine";
    return this.letters[seat.number] === "." ? "free" : "taken";
  }

  paint() {
    const { canvas, scale, ratio } = this;
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const size = Math.max(scale * 0.9, 1), half = size / 2;
    const [width, height] = [canvas.clientWidth + size, canvas.clientHeight + size];
    const groups = new Map();
    const special = [];
    for (const seat of this.all) {
      const x = seat.x * scale + this.dx, y = seat.y * scale + this.dy;
      if (x < -size || y < -size || x > width || y > height) continue;
      const look = this.look(seat);
      if (look === "mine" || look === "asking") { special.push([seat, x, y, look]); continue; }
      const key = look === "free" ? seat.grade.nth : -1;
      let group = groups.get(key);
      if (!group) groups.set(key, group = []);
      group.push(x, y, seat);
    }
    const taken = colour(canvas, "--taken");
    for (const [key, group] of groups) {
      pen.fillStyle = key < 0 ? taken : gradeColour(canvas, key);
      // A taken seat is smaller, too: colour alone says nothing to some.
      const small = key < 0 ? size * 0.55 : size;
      for (let at = 0; at < group.length; at += 3) pen.fillRect(group[at] - small / 2, group[at + 1] - small / 2, small, small);
      if (key >= 0 && size >= 17) {
        pen.fillStyle = isDark(canvas) ? "#0b0d12" : "#fff";
        pen.font = `600 ${Math.min(size * 0.42, 15)}px system-ui, sans-serif`;
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        for (let at = 0; at < group.length; at += 3) pen.fillText(String(group[at + 2].short).slice(0, 4), group[at], group[at + 1] + 0.5, size);
      }
    }
    for (const [, x, y, look] of special) {
      const most = Math.max(size, 6);
      pen.fillStyle = colour(canvas, "--mine");
      pen.globalAlpha = look === "asking" ? 0.5 : 1;
      pen.fillRect(x - most / 2, y - most / 2, most, most);
      pen.globalAlpha = 1;
      pen.strokeStyle = colour(canvas, "--card");
      pen.lineWidth = Math.max(most * 0.14, 1);
      pen.beginPath();
      pen.moveTo(x - most * 0.25, y);
      pen.lineTo(x - most * 0.05, y + most * 0.22);
      pen.lineTo(x + most * 0.28, y - most * 0.22);
      pen.stroke();
    }
    this.labels(pen, half);
    if (this.cursor && canvas.matches(":focus")) {
      const [x, y] = [this.cursor.x * scale + this.dx, this.cursor.y * scale + this.dy];
      const ring = Math.max(size, 10) + 6;
      pen.strokeStyle = colour(canvas, "--focus");
      pen.lineWidth = 3;
      pen.strokeRect(x - ring / 2, y - ring / 2, ring, ring);
    }
  }

  // Writes the names of rows at their left, where there is room.
  labels(pen, half) {
    if (this.scale < 11) return;
    pen.fillStyle = colour(this.canvas, "--soft");
    pen.font = "600 12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    let before = null;
    for (const seat of this.all) {
      if (before && before.row === seat.row && before.section === seat.section) continue;
      before = seat;
      if (seat.row) pen.fillText(seat.row, seat.x * this.scale + this.dx - half - 5, seat.y * this.scale + this.dy);
    }
  }

  // Gives the seat at a point of the canvas; a finger may miss it by a little.
  at(x, y) {
    let best = null, least = Math.max(this.scale * 0.7, 10);
    for (const seat of this.all) {
      const far = Math.hypot(seat.x * this.scale + this.dx - x, seat.y * this.scale + this.dy - y);
      if (far < least) [best, least] = [seat, far];
    }
    return best;
  }

  gestures() {
    const fingers = new Map();
    let moved = 0, spread = 0;
    const canvas = this.canvas;
    const place = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const far = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, place(event));
      if (fingers.size === 1) moved = 0;
      if (fingers.size === 2) { spread = far(); moved = 100; }
    });
    canvas.addEventListener("pointermove", event => {
      const [x, y] = place(event);
      const before = fingers.get(event.pointerId);
      if (!before) { this.pointed(this.at(x, y)); return; }
      fingers.set(event.pointerId, [x, y]);
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()];
        const now = far();
        this.zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        spread = now;
        return;
      }
      moved += Math.hypot(x - before[0], y - before[1]);
      if (moved > 6) { this.dx += x - before[0]; this.dy += y - before[1]; this.draw(); }
    });
    const up = event => {
      if (!fingers.delete(event.pointerId) || event.type === "pointercancel") return;
      const seat = moved <= 6 && this.at(...place(event));
      // A finger on a small map comes nearer first: nobody takes the neighbour's seat by mistake.
      if (!seat) return;
      if (this.scale < 9 && event.pointerType === "touch") this.zoom(16 / this.scale, ...place(event));
      else { this.cursor = seat; this.chosen(seat); }
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0015), ...place(event));
    }, { passive: false });
  }

  keys() {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    this.canvas.addEventListener("keydown", event => {
      const step = steps[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (step) this.go(...step);
      else if (event.key === "Enter" || event.key === " ") this.cursor && this.chosen(this.cursor);
      else if (event.key === "+" || event.key === "=") this.zoom(1.4);
      else if (event.key === "-") this.zoom(1 / 1.4);
      else if (event.key === "0") this.show();
      else return;
      event.preventDefault();
    });
    for (const name of ["focus", "blur"]) this.canvas.addEventListener(name, () => { if (name === "focus" && !this.cursor) this.go(0, 0); this.draw(); });
  }

  // Goes to the nearest seat in a direction, and brings it into view.
  go(dx, dy) {
    if (this.all.length === 0) return;
    const from = this.cursor ?? { x: (this.box.left + this.box.right) / 2, y: this.box.top };
    let best = null, least = Infinity;
    for (const seat of this.all) {
      const along = (seat.x - from.x) * dx + (seat.y - from.y) * dy;
      const aside = Math.abs((seat.x - from.x) * dy) + Math.abs((seat.y - from.y) * dx);
      const far = dx || dy ? along + aside * 3 : Math.hypot(seat.x - from.x, seat.y - from.y);
      if ((dx || dy) && along < 0.01) continue;
      if (far < least) [best, least] = [seat, far];
    }
    if (!best) return;
    this.cursor = best;
    if (this.scale < 14) this.zoom(18 / this.scale);
    const [x, y] = [best.x * this.scale + this.dx, best.y * this.scale + this.dy];
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (x < 40 || x > width - 40) this.dx += width / 2 - x;
    if (y < 40 || y > height - 40) this.dy += height / 2 - y;
    this.pointed(best);
    this.draw();
  }
}
