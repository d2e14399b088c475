// What all pages need to talk with the server.
const pause = ms => new Promise(done => setTimeout(done, ms));
const random = (from, to) => from + Math.random() * (to - from);
const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");

// Waits, but not longer than until the browser says that there is a network again.
const backOff = ms => Promise.race([pause(ms), new Promise(done => addEventListener("online", done, { once: true }))]);

// A position is two numbers with a point between them; the greater one is later.
function isLater(one, other) {
  const [epoch, place] = one.split(".").map(Number);
  const [otherEpoch, otherPlace] = (other ?? "0.0").split(".").map(Number);
  return epoch > otherEpoch || (epoch === otherEpoch && place > otherPlace);
}

// Reads server-sent events from an answer; with `fetch`, so that the token stands in a header and not in an address.
async function readEvents(answer, heard, silent) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const timer = setTimeout(silent, 40000);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const event = { name: "message", data: "", id: null };
      for (const line of text.slice(0, end).split("\n")) {
        if (line.startsWith("event: ")) event.name = line.slice(7);
        if (line.startsWith("data: ")) event.data += line.slice(6);
        if (line.startsWith("id: ")) event.id = line.slice(4);
      }
      if (event.data) heard(event);
    }
  }
}
