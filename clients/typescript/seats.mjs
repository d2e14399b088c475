// Writes dist/seats.js, the element <firstcome-seats>, from the scripts of the server's own page, and its types beside it.
// The list is that of crates/firstcome-http/src/pages/seats.rs; a test compares the file with what the server serves.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";

const FOLDER = new URL("../../crates/firstcome-http/src/pages/seats/", import.meta.url);
const part = name => readFileSync(new URL(name, FOLDER), "utf8");

const scripts = ["words", "language", "browser", "net", "map", "session", "panel"].map(name => part(`${name}.js`));
const text = [...scripts, "const STYLE = `", part("seats.css"), "`;\n", part("element.js")].join("");
writeFileSync(new URL("dist/seats.js", import.meta.url), text);
copyFileSync(new URL("src/seats.d.ts", import.meta.url), new URL("dist/seats.d.ts", import.meta.url));
