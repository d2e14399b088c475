// A campaign's minute as pictures, drawn by hand as SVG.
const HEIGHT = 176, EDGE = { left: 52, right: 10, top: 10, bottom: 22 };
const ms = us => us >= 1e6 ? `${number(Math.round(us / 1e5) / 10)} s` : us >= 1000 ? `${number(Math.round(us / 100) / 10)} ms` : `${number(us)} µs`;

// Gives a number at or above the greatest value that reads well on an axis.
function nice(most) {
  if (most <= 4) return 4;
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map(step => step * unit).find(end => end >= most);
}

// One picture: its frame with times below it and values at the left.
class Picture {
  constructor(title, note) {
    this.svg = make("svg", { role: "img", preserveAspectRatio: "none" });
    this.summary = make("span", { class: "soft" });
    this.legend = make("ul", { class: "legend" });
    this.element = make("figure", { class: "card" }, make("figcaption", {}, make("b", {}, title), make("span", { class: "soft" }, note), this.summary), this.svg, this.legend);
    this.title = title;
  }

  // Draws: `marks` are values of the axis with their texts, `top` the value at the upper edge, `paths` what is shown.
  draw({ from, to, marks, place, paths, summary, legend = [] }) {
    const width = this.svg.clientWidth || 600;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("aria-label", `${this.title}: ${summary}`);
    set(this.summary, summary);
    const x = second => EDGE.left + (second - from) / (to - from) * (width - EDGE.left - EDGE.right);
    const y = value => HEIGHT - EDGE.bottom - place(value) * (HEIGHT - EDGE.top - EDGE.bottom);
    const lines = marks.map(([value, text]) => make("g", {},
      make("line", { class: "axis", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
      make("text", { x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, text)));
    const minutes = Math.round((to - from) / 60);
    const times = [[from, say("ago", { n: minutes })], [(from + to) / 2, say("ago", { n: number(minutes / 2) })], [to, say("nowMark")]].map(([second, text], nth) =>
      make("text", { x: x(second), y: HEIGHT - 6, "text-anchor": ["start", "middle", "end"][nth] }, text));
    this.svg.replaceChildren(...lines, ...paths(x, y, (width - EDGE.left - EDGE.right) / (to - from)), ...times);
    fill(this.legend, legend, () => legend.map(([style, text]) => make("li", {}, make("span", { class: style, "aria-hidden": "true" }), text)));
  }
}

// Gives a path of bars, each a second wide, from a base to a top.
const bars = (rows, x, y, step, style) => make("path", {
  class: style,
  d: rows.map(([second, base, top]) => { const w = Math.max(step - 0.4, 0.8); return `M${x(second).toFixed(1)} ${y(base).toFixed(1)}h${w.toFixed(1)}V${y(top).toFixed(1)}h-${w.toFixed(1)}z`; }).join(""),
});
const lineOf = (points, x, y, style) => make("path", { class: `line ${style}`, d: points.map(([second, value], nth) => `${nth ? "L" : "M"}${x(second).toFixed(1)} ${y(value).toFixed(1)}`).join("") });

function minutePictures(name) {
  const seconds = new Map();
  let next = 0, span = 5;
  const claims = new Picture(say("perSecond"), say("fromJournal")), refusals = new Picture(say("refusals"), say("here"));
  const latency = new Picture(say("latency"), say("here")), left = new Picture(say("placesLeft"), say("fromJournal"));
  const choices = [1, 5, 15].map(n => make("button", { type: "button", class: "plain", "aria-pressed": String(n === span), onclick: () => { span = n; choices.forEach((button, nth) => button.setAttribute("aria-pressed", String([1, 5, 15][nth] === n))); refreshNow(); } }, say("minutes", { n })));
  const note = make("p", { class: "soft", hidden: true }, say("notCounted"));
  const element = make("section", { "aria-label": say("minute") }, make("div", { class: "row" }, make("h2", {}, say("minute")), ...choices), note,
    make("div", { class: "grid" }, claims.element, refusals.element, latency.element, left.element));
  const kinds = [];

  function draw(now) {
    const from = now - span * 60, to = now + 1;
    const shown = [...seconds.values()].filter(one => one.second >= from).sort((a, b) => a.second - b.second);
    const axis = top => ({ marks: [[0, "0"], [top / 2, number(top / 2)], [top, number(top)]], place: value => value / top });
    const most = Math.max(0, ...shown.map(one => one.claims)), all = shown.reduce((n, one) => n + one.claims, 0);
    claims.draw({ from, to, ...axis(nice(most)), summary: all ? say("chartClaims", { sum: number(all), most: number(most) }) : say("nothing"),
      paths: (x, y, step) => [bars(shown.filter(one => one.claims > 0).map(one => [one.second, 0, one.claims]), x, y, step, "fMain")] });

    const counts = new Map();
    for (const one of shown) for (const { outcome, count } of one.here_refusals) {
      if (!kinds.includes(outcome)) kinds.push(outcome);
      counts.set(outcome, (counts.get(outcome) ?? 0) + count);
    }
    const total = one => one.here_refusals.reduce((n, kind) => n + kind.count, 0);
    const refused = [...counts.values()].reduce((a, b) => a + b, 0);
    refusals.draw({ from, to, ...axis(nice(Math.max(0, ...shown.map(total)))), summary: refused ? say("chartRefusals", { sum: number(refused) }) : say("nothing"),
      legend: kinds.filter(kind => counts.has(kind)).map(kind => [`bg${kinds.indexOf(kind) % 9}`, `${kind} ${number(counts.get(kind))}`]),
      paths: (x, y, step) => {
        const base = new Map();
        return kinds.map((kind, nth) => bars(shown.flatMap(one => {
          const count = one.here_refusals.find(known => known.outcome === kind)?.count;
          if (!count) return [];
          const bottom = base.get(one.second) ?? 0;
          base.set(one.second, bottom + count);
          return [[one.second, bottom, bottom + count]];
        }), x, y, step, `f${nth % 9}`));
      } });

    const timed = shown.filter(one => one.here_p50_us !== null), newest = timed.at(-1);
    // Each line of the axis is ten times the one below it: from 10 µs to 10 s.
    latency.draw({ from, to, marks: [[100, "0.1 ms"], [1e4, "10 ms"], [1e6, "1 s"]], place: us => Math.min(Math.max((Math.log10(us) - 1) / 6, 0), 1),
      summary: newest ? say("chartLatency", { p50: ms(newest.here_p50_us), p99: ms(newest.here_p99_us) }) : say("nothing"),
      legend: timed.length ? [["bg3", "p50"], ["bg1", "p90"], ["bg0", "p99"]] : [],
      paths: (x, y) => [["here_p50_us", "s3"], ["here_p90_us", "s1"], ["here_p99_us", "s0"]].map(([part, style]) => lineOf(timed.flatMap(one => [[one.second, one[part]], [one.second + 1, one[part]]]), x, y, style)) });

    const known = [...seconds.values()].filter(one => one.left !== null).sort((a, b) => a.second - b.second);
    const first = known.findLast(one => one.second < from) ?? known[0];
    const points = known.filter(one => one.second >= from);
    const steps = [], value = one => one.left;
    let before = first && value(first);
    if (first) steps.push([Math.max(first.second, from), before]);
    for (const one of points) { steps.push([one.second, before], [one.second, value(one)]); before = value(one); }
    if (first) steps.push([to, before]);
    left.draw({ from, to, ...axis(nice(Math.max(0, ...steps.map(step => step[1])))), summary: first ? say("chartLeft", { left: number(before) }) : say("nothing"),
      paths: (x, y) => steps.length === 0 ? [] : [
        make("path", { class: "fGood", d: `M${x(steps[0][0])} ${y(0)}${steps.map(([second, n]) => `L${x(second).toFixed(1)} ${y(n).toFixed(1)}`).join("")}V${y(0)}z` }),
        lineOf(steps, x, y, "sGood")] });
  }

  return {
    element,
    async refresh() {
      const page = await read(`${path(name)}/minute?from=${next}`);
      for (const second of page.seconds) seconds.set(second.second, second);
      for (const second of seconds.keys()) if (second < page.now_second - 900) seconds.delete(second);
      next = page.next;
      note.hidden = page.counted || seconds.size === 0;
      draw(page.now_second);
    },
  };
}
