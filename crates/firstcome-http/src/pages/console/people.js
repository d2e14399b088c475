// Results with search and export; everything about one subject; servers, forks and the ledger.
const LOADED = 20000, SHOWN = 300;

function resultsView(name) {
  const head = campaignHead(name, "/results");
  const search = typed("search", "search", ""), kind = select("kind", [["", say("anyKind")], ...Object.entries(WORDS[language].kinds)], "");
  const list = make("section", { class: "card" }, say("loading")), count = make("p", { class: "soft", role: "status", id: "count" });
  let rows = [], after = 0, all = 0;
  const fits = row => (!kind.value || row.kind === kind.value) && (!search.value || [row.subject, row.unit, row.hold, row.pool, row.moved_from, row.reference, String(row.rank)].some(text => text?.toLowerCase().includes(search.value.toLowerCase())));
  const show = () => {
    const found = rows.filter(fits);
    set(count, `${say("shown", { n: number(Math.min(found.length, SHOWN)), all: number(all) })}${all > rows.length ? ` ${say("more", { n: number(rows.length) })}` : ""}`);
    const shown = found.slice(-SHOWN).reverse();
    fill(list, [shown.at(0)?.number, shown.length, search.value, kind.value], () => shown.length === 0 ? [make("p", {}, say("none"))] : [table(
      [[say("number"), true], [say("kind")], [say("pool")], [say("rank"), true], [say("subject")], [say("unit")], [say("reason")], [say("time")]],
      shown.map(row => [number(row.number), word("kinds", row.kind), row.pool, row.rank ? number(row.rank) : "–", make("a", { href: `#/subject/${encodeURIComponent(row.subject)}` }, row.subject),
        row.moved_from ? `${row.moved_from} → ${row.unit}` : row.unit ?? "–", row.reason ?? "–", exactTime(row.at)]))]);
  };
  search.oninput = kind.oninput = show;
  // Reads page after page as a table, with the columns of the ledger, and saves them as one file.
  const save = async () => {
    const parts = [];
    for (let from = 0, lines = 0; ;) {
      const answer = await fetch(`.${path(name)}/results?after=${from}&limit=10000&format=csv`, { headers: { authorization: `Bearer ${key}` }, cache: "no-store" });
      if (!answer.ok) { tell(say("refused", { why: (await answer.json()).detail }), true); return; }
      const text = await answer.text(), first = text.indexOf("\n") + 1;
      parts.push(parts.length ? text.slice(first) : text);
      lines += Math.max(0, text.split("\n").length - 2);
      tell(say("saved", { n: number(lines) }));
      const next = answer.headers.get("firstcome-next");
      if (!next) break;
      from = Number(next);
    }
    const file = make("a", { href: URL.createObjectURL(new Blob(parts, { type: "text/csv" })), download: `${name}-results.csv` });
    file.click();
    setTimeout(() => URL.revokeObjectURL(file.href), 60000);
  };
  return {
    title: `${name} · ${say("results")}`, every: 2000,
    content: [...head.content, make("div", { class: "row" }, field(say("search"), null, search), field(say("kind"), null, kind), make("button", { type: "button", id: "export", class: "plain", onclick: save }, say("exported"))), count, list],
    async refresh(alive) {
      head.show(await read(path(name)));
      for (let pages = 0; pages < 200 && alive(); pages++) {
        const page = await read(`${path(name)}/results?after=${after}&limit=10000`);
        rows.push(...page.results);
        all += page.results.length;
        after = page.next ?? page.results.at(-1)?.number ?? after;
        if (rows.length > LOADED) rows = rows.slice(-LOADED);
        if (page.next === null) break;
      }
      show();
    },
  };
}

function subjectView(name) {
  const input = typed("subject", "search", name ?? "", { maxlength: 255 }), story = make("div", { id: "story" });
  const look = event => { event.preventDefault(); location.hash = `#/subject/${encodeURIComponent(input.value.trim())}`; };
  const content = [make("h1", {}, say("story")), make("form", { class: "row", onsubmit: look }, field(say("subject"), null, input), make("button", {}, say("find"))), story];
  if (!name) return { title: say("subjects"), content };
  const cancel = async (campaign, claim) => {
    const yes = await asked(say("askCancel", { what: `${claim.pool}/${claim.rank}${claim.unit ? ` ${claim.unit}` : ""}`, name }), say("askCancelText"), [], { label: say("why") });
    if (yes) await act(word("deeds", "cancel"), "DELETE", `${path(campaign)}/claims/${encodeURIComponent(name)}?pool=${encodeURIComponent(claim.pool)}&rank=${claim.rank}&reason=${encodeURIComponent(yes.typed)}`);
    refreshNow();
  };
  const bar = campaign => askAndAct({ title: say("askBar", { name, campaign }), text: say("askBarText"), field: { label: say("why") }, what: word("deeds", "bar"), method: "POST", path: `${path(campaign)}/bars`, body: reason => ({ subject: name, reason }) }).then(refreshNow);
  const unbar = campaign => askAndAct({ title: say("askUnbar", { name, campaign }), what: word("deeds", "unbar"), method: "DELETE", path: `${path(campaign)}/bars/${encodeURIComponent(name)}` }).then(refreshNow);
  // The oldest campaigns come first, and a page ends with a thousand claims.
  const everywhere = async alive => {
    const campaigns = new Map();
    for (let after = 0, pages = 0; after !== null && pages < 200 && alive(); pages++) {
      const page = await read(`/v1/subjects/${encodeURIComponent(name)}?after=${after}`);
      page.campaigns.forEach(one => campaigns.set(one.campaign, one));
      after = page.next;
    }
    return campaigns;
  };
  const unit = one => [one.pool, one.unit ?? one.name, one.quantity > 1 ? `×${one.quantity}` : null].filter(Boolean).join(" ");
  return {
    title: name, content, every: 3000,
    async refresh(alive) {
      const [has, { campaigns }] = [await everywhere(alive), await newestCampaigns()];
      const parts = [];
      for (const one of campaigns.slice(0, 100)) {
        const own = has.get(one.campaign);
        const part = { campaign: one.campaign, title: one.title, claims: own?.claims ?? [], holds: own?.holds ?? [], places: [], bar: null };
        if (mayOperate(one.campaign)) {
          for (const pool of one.pools.filter(pool => pool.waiting > 0)) {
            const { ok, document } = await ask("GET", `${path(one.campaign)}/waitlist/${encodeURIComponent(name)}?pool=${encodeURIComponent(pool.name)}`);
            if (ok && document.state === "waits") part.places.push({ pool: pool.name, ahead: document.ahead });
          }
          part.bar = (await read(`${path(one.campaign)}/bars?limit=10000`)).bars.find(line => line.subject === name) ?? null;
        }
        if (part.claims.length || part.holds.length || part.places.length || part.bar) parts.push(part);
      }
      fill(story, parts, () => parts.length === 0 ? [make("p", {}, say("nothingOf"))] : parts.map(part => make("section", { class: "card" },
        make("div", { class: "head" }, make("h2", {}, make("a", { href: link(part.campaign) }, part.title || part.campaign)), mayOperate(part.campaign) ? make("div", { class: "row" },
          part.bar ? make("button", { type: "button", class: "plain unbar", onclick: () => unbar(part.campaign) }, say("unbar")) : make("button", { type: "button", class: "danger bar", onclick: () => bar(part.campaign) }, say("bar"))) : null),
        part.bar ? make("p", { class: "bad" }, `${say("barred", part.bar)} · ${exactTime(part.bar.at)}`) : null,
        ...part.places.map(place => make("p", {}, `${place.pool}: ${say("waits", { n: number(place.ahead) })}`)),
        part.claims.length ? table([[say("pool")], [say("rank"), true], [say("unit")], [say("time")], [say("state")], [""]], part.claims.map(claim => [claim.pool, number(claim.rank), claim.unit ?? "–", exactTime(claim.at),
          claim.cancelled ? say("cancelledBy", { by: claim.cancelled.by, reason: claim.cancelled.reason || "–" }) : say("live"),
          !claim.cancelled && mayOperate(part.campaign) ? make("button", { type: "button", class: "plain cancel", onclick: () => cancel(part.campaign, claim) }, say("cancel")) : ""])) : null,
        part.holds.length ? table([[say("hold")], [say("unit")], [say("state")], [say("until")]], part.holds.map(hold => [hold.hold, hold.units.map(unit).join(", "), hold.state, hold.expires_at ? exactTime(hold.expires_at) : "–"])) : null)));
    },
  };
}

function serversView() {
  const place = make("div", { id: "servers" }, say("loading")), report = make("section", { class: "card", id: "forks" });
  let forks = [], rounds = 0;
  return {
    title: say("servers"), content: [make("h1", {}, say("servers")), place, report], every: 2000,
    async refresh() {
      const [all, ledger] = [await read("/v1/nodes"), await read("/v1/settling")];
      // Reports are long, and seldom new.
      if (rounds++ % 15 === 0) ({ forks } = await read("/v1/forks"));
      const row = (one, gone) => [one.address, gone ? say("gone") : `${one.leader ? say("leader") : say("follower")}${one.this ? ` · ${say("this")}` : ""}${one.state === "here" ? "" : ` · ${one.state}`}`,
        number(one.position), number(one.lag), exactTime(one.seen), String(one.level), one.ledger.slice(0, 8), exactTime(one.since)];
      fill(place, [all.nodes.map(one => [one.node, one.position, one.seen, one.leader, one.state]), all.gone, ledger], () => [
        all.leader ? null : make("p", { class: "bad", role: "alert" }, say("noLeader")),
        ledger.trouble ? make("p", { class: "bad", role: "alert" }, say("trouble", { why: ledger.trouble })) : null,
        make("dl", { class: "numbers" }, ...[["ledgerLag", number(ledger.lag)], ["oldest", ledger.lag_ms ? ms(ledger.lag_ms * 1000) : "–"], ["position", all.position], ["level", String(all.level)], ["ledger", ledger.ledger]].map(([text, value]) => make("div", {}, make("dt", {}, say(text)), make("dd", {}, value)))),
        make("section", { class: "card" }, table([[say("node")], [say("state")], [say("position"), true], [say("lag"), true], [say("seen")], [say("level"), true], [say("ledger")], [say("since")]], [...all.nodes.map(one => row(one, false)), ...all.gone.map(one => row(one, true))])),
      ].filter(Boolean));
      fill(report, forks, () => [make("h2", {}, say("forks")), ...(forks.length === 0 ? [make("p", {}, say("noForks"))] : forks.map(fork => make("details", {}, make("summary", {}, `${say("epoch", { n: fork.epoch })} · ${fork.node.slice(0, 8)}`), make("pre", { tabindex: "0" }, fork.report))))]);
    },
  };
}
