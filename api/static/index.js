// The index page: every device with its attributes, live. It uses nothing but
// the public interface: what exists comes with the stream's first events.

const rows = new Map();     // name -> row
const sections = new Map(); // device -> section
const dirty = new Set();    // rows to draw at the next frame
const byId = (id) => document.getElementById(id);
const order = new Intl.Collator("en", { numeric: true }).compare;
const columns = [["name", "Name"], ["value", "Value"], ["units", ""], ["put", "Setpoint"], ["alarm", "Alarm"], ["time", "Time"], ["about", ""]];

function element(tag, className = "", text = "") {
  const e = document.createElement(tag);
  e.className = className;
  e.textContent = text;
  return e;
}

// insertSorted keeps the children of a parent sorted by their data-key.
function insertSorted(parent, child, key) {
  child.dataset.key = key;
  let low = 0;
  for (let high = parent.children.length; low < high;) {
    const middle = (low + high) >> 1;
    if (order(parent.children[middle].dataset.key, key) < 0) low = middle + 1; else high = middle;
  }
  parent.insertBefore(child, parent.children[low] ?? null);
}

const deviceOf = (name) => name.slice(0, name.indexOf("."));

function sectionOf(device) {
  let s = sections.get(device);
  if (s) return s;
  byId("empty").hidden = true;
  s = { section: element("section"), lost: element("small", "lost"), about: element("small"), body: element("tbody"), rows: new Set() };
  const title = element("h2", "", device);
  title.append(s.lost, s.about);
  const table = element("table"), head = element("thead"), line = element("tr");
  for (const [name, text] of columns) line.append(element("th", name, text));
  head.append(line);
  table.append(head, s.body);
  s.section.append(title, table);
  sections.set(device, s);
  insertSorted(byId("devices"), s.section, device);
  describeDevices();
  return s;
}

let asking = false;
async function describeDevices() {
  if (asking) return;
  asking = true;
  try {
    const { devices } = await (await fetch("/api/v1/devices")).json();
    for (const d of devices) {
      const s = sections.get(d.name);
      if (s) s.about.textContent = [d.description, d.link].filter(Boolean).join(" \u00B7 ");
    }
  } catch { /* the page lives without */ }
  asking = false;
}

function rowOf(name) {
  let row = rows.get(name);
  if (row) return row;
  row = { tr: element("tr"), cells: {}, attribute: {}, section: sectionOf(deviceOf(name)) };
  for (const [column] of columns) row.tr.append(row.cells[column] = element("td", column));
  row.chip = row.cells.alarm.appendChild(element("span", "chip"));
  rows.set(name, row);
  row.section.rows.add(row);
  insertSorted(row.section.body, row.tr, name);
  return row;
}

const isCommand = (a) => a.descriptor?.access === "x";
const urlOf = (a) => `/api/v1/${isCommand(a) ? "commands" : "attributes"}/${encodeURIComponent(a.name)}`;

function describe(row) {
  const a = row.attribute, d = a.descriptor;
  const link = element("a", "", a.name.slice(a.name.indexOf(".") + 1));
  link.href = urlOf(a);
  link.title = [a.name, d.description, d.kind + (d.shape ? `[${d.shape.join(" x ")}]` : "")].filter(Boolean).join("\n");
  row.cells.name.replaceChildren(link);
  row.cells.units.textContent = d.units ?? "";
  row.cells.about.textContent = row.cells.about.title = d.description ?? "";
  row.cells.put.replaceChildren();
  delete row.input;
  if (d.access.includes("w") || isCommand(a)) row.cells.put.append(formOf(row));
}

function formOf(row) {
  const a = row.attribute, type = isCommand(a) ? a.descriptor.argument : a.descriptor;
  const form = row.form = element("form");
  if (type) {
    const labels = type.kind === "bool" ? ["false", "true"] : type.states?.map((s) => s.label);
    form.append(row.input = labels && !type.shape ? choice(labels) : element("input"));
    row.input.setAttribute("aria-label", isCommand(a) ? `argument of ${a.name}` : `new value of ${a.name}`);
    row.input.title = hintOf(type);
    row.input.addEventListener("input", () => edited(row, true));
    row.input.addEventListener("keydown", (e) => { if (e.key === "Escape") { edited(row, false); draw(row); } });
  }
  form.append(row.button = element("button", "", isCommand(a) ? "Run" : "Set"));
  form.addEventListener("submit", (e) => { e.preventDefault(); put(row); });
  row.said = element("output");
  const both = document.createDocumentFragment();
  both.append(form, row.said);
  return both;
}

function hintOf(type) {
  const { control_low: low, control_high: high } = type.limits ?? {};
  const range = low !== undefined || high !== undefined ? `${low ?? ""} \u2026 ${high ?? ""}` : "";
  return [type.shape ? "[1, 2, 3]" : "", range, type.units].filter(Boolean).join(" ");
}

function choice(labels) {
  const select = element("select");
  for (const label of labels) select.append(new Option(label, label));
  select.selectedIndex = -1; // until there is a setpoint
  return select;
}

function edited(row, yes) {
  row.edited = yes;
  row.form.classList.toggle("edited", yes);
  say(row, "", "");
}

function say(row, className, text) {
  row.said.className = className;
  row.said.textContent = text;
}

async function put(row) {
  const options = { method: isCommand(row.attribute) ? "POST" : "PUT" };
  if (row.input) {
    options.headers = { "Content-Type": "text/plain" };
    options.body = row.input.value;
  }
  row.button.disabled = true;
  say(row, "", "");
  try {
    const answer = await fetch(urlOf(row.attribute), options);
    const body = await answer.json();
    if (answer.ok) {
      edited(row, false);
      say(row, "done", body.result === undefined ? `\u2713 ${body.stage}` : `\u2713 ${body.result}`);
      setTimeout(() => { if (row.said.className === "done") say(row, "", ""); }, 3000);
    } else {
      say(row, "refused", body.device_words ? `Device: ${body.device_words}` : body.detail.replace(`${row.attribute.name}: `, ""));
    }
  } catch {
    say(row, "refused", "The gateway did not answer.");
  }
  row.button.disabled = false;
  later(row);
}

const severities = ["NO_ALARM", "MINOR", "MAJOR", "INVALID"];
const worse = (a, b) => (severities.indexOf(b?.severity) > severities.indexOf(a?.severity) ? b : a);

function format(value, precision) {
  if (value === null || value === undefined) return "\u2013";
  if (Array.isArray(value)) return value.map((v) => format(v, precision)).join(", ");
  if (typeof value !== "number" || Number.isInteger(value) && precision === undefined) return String(value);
  const size = Math.abs(value);
  if (precision !== undefined && (value === 0 || size < 1e15 && size >= 10 ** -(precision + 3))) return value.toFixed(precision);
  return String(Number(value.toPrecision(7)));
}

// drawArray shows a short array whole and a long one as a curve with its length.
function drawArray(cell, value, precision) {
  const flat = value.flat(Infinity);
  if (flat.length <= 6) return cell.replaceChildren(format(value, precision));
  const count = element("small", "", `${flat.length} values`);
  const numbers = flat.filter((v) => typeof v === "number");
  cell.replaceChildren(...(numbers.length > 1 ? [curve(numbers), count] : [count]));
}

function curve(numbers) {
  const width = 110, height = 20, svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("aria-hidden", "true");
  const lowest = numbers.reduce((a, b) => Math.min(a, b)), span = numbers.reduce((a, b) => Math.max(a, b)) - lowest || 1;
  const y = (v) => (height - 2 - (v - lowest) / span * (height - 4)).toFixed(1);
  const points = [];
  const columns = Math.min(width, numbers.length); // one column shows the extremes of its share
  for (let i = 0; i < columns; i++) {
    const share = numbers.slice(Math.floor(i * numbers.length / columns), Math.floor((i + 1) * numbers.length / columns));
    const x = (i * (width - 1) / Math.max(columns - 1, 1)).toFixed(1);
    const low = share.reduce((a, b) => Math.min(a, b)), high = share.reduce((a, b) => Math.max(a, b));
    points.push(`${x},${y(low)}`);
    if (high > low) points.push(`${x},${y(high)}`);
  }
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points.join(" "));
  svg.append(line);
  return svg;
}

function draw(row) {
  const a = row.attribute, d = a.descriptor, { value: cell } = row.cells;
  const shown = "value" in a ? a : a.setpoint;
  if (isCommand(a)) {
    cell.textContent = a.setpoint?.value ? "running" : "";
  } else if (Array.isArray(shown?.value)) {
    drawArray(cell, shown.value, d?.precision);
    cell.title = format(shown.value.flat(Infinity).slice(0, 50));
  } else {
    cell.textContent = format(shown?.value, d?.precision);
    cell.title = shown?.value ?? "";
  }
  cell.classList.toggle("text", d?.kind === "string" || d?.kind === "bytes");
  if (row.input && !isCommand(a) && !row.edited && document.activeElement !== row.input && a.setpoint?.value != null) {
    row.input.value = typeof a.setpoint.value === "object" ? JSON.stringify(a.setpoint.value) : a.setpoint.value;
  }
  const asked = a.setpoint?.alarm.status === "UDF" ? undefined : a.setpoint?.alarm; // never asked for is no fault
  const alarm = worse(a.alarm ?? asked, asked);
  row.alarmed = alarm !== undefined && alarm.severity !== "NO_ALARM";
  row.tr.className = row.alarmed ? alarm.severity : "";
  row.tr.classList.toggle("old", ("value" in a ? a.alarm : asked)?.severity === "INVALID");
  row.chip.textContent = row.alarmed ? `${alarm.severity} ${alarm.status}` : "";
  row.cells.alarm.title = alarm?.text ?? "";
  row.cells.time.textContent = shown?.time ? new Date(shown.time).toLocaleTimeString("en-GB") : "";
  row.cells.time.title = shown?.time ?? "";
}

function later(row) {
  if (dirty.size === 0) requestAnimationFrame(drawAll);
  dirty.add(row);
}

function drawAll() {
  for (const row of dirty) draw(row);
  dirty.clear();
  select();
}

// select hides what is not looked for.
function select() {
  const text = byId("find").value.trim().toLowerCase(), alarmsOnly = byId("alarms").checked;
  let shown = 0;
  for (const { section, rows: all } of sections.values()) {
    let some = false;
    for (const row of all) {
      const a = row.attribute;
      const fits = (!alarmsOnly || row.alarmed) && (!text || `${a.name} ${a.descriptor?.description ?? ""}`.toLowerCase().includes(text));
      if (row.tr.hidden === fits) row.tr.hidden = !fits;
      if (fits) { some = true; shown++; }
    }
    section.hidden = !some;
  }
  byId("count").textContent = shown === rows.size ? `${shown}` : `${shown} of ${rows.size}`;
}

function onWhole({ event, ...attribute }) {
  const row = rowOf(attribute.name);
  row.attribute = { ...row.attribute, ...attribute };
  if (attribute.descriptor) describe(row);
  const { state, words } = attribute.availability;
  const lost = state !== "connected" && state !== "stale";
  row.section.lost.textContent = lost ? [state.replace("_", " "), words].filter(Boolean).join(": ") : "";
  later(row);
}

function onSample({ event, name, role, lost, ...sample }) {
  const row = rows.get(name);
  if (!row) return;
  if (role === "setpoint") row.attribute.setpoint = sample; else Object.assign(row.attribute, sample);
  later(row);
}

function onRemoved({ name }) {
  const row = rows.get(name);
  if (!row) return;
  row.tr.remove();
  row.section.rows.delete(row);
  rows.delete(name);
  dirty.delete(row);
  if (row.section.rows.size === 0) {
    row.section.section.remove();
    sections.delete(deviceOf(name));
  }
  select();
}

function onGap() {
  for (const name of [...rows.keys()]) onRemoved({ name });
}

// onKnown is called when all there is has been told.
function onKnown() {
  byId("empty").hidden = sections.size > 0;
}

function listen() {
  const state = byId("stream");
  const source = new EventSource("/api/v1/stream?max_rate=10&ints=string");
  const on = (type, handle) => source.addEventListener(type, (e) => handle(JSON.parse(e.data)));
  on("added", onWhole);
  on("described", onWhole);
  on("availability", onWhole);
  on("sample", onSample);
  on("removed", (event) => { onRemoved(event); onKnown(); });
  on("synced", onKnown);
  on("gap", onGap);
  source.onopen = () => { state.textContent = "live"; state.className = "state live"; };
  source.onerror = () => {
    state.textContent = "connection lost, trying again";
    state.className = "state lost";
    if (source.readyState === EventSource.CLOSED) { // refused, which EventSource takes for the end
      setTimeout(() => { onGap(); listen(); }, 2000);
    }
  };
}

byId("find").addEventListener("input", select);
byId("alarms").addEventListener("change", select);
listen();
