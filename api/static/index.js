// The index page: every device with its attributes, live. It uses nothing but
// the public interface: the list comes with the stream's first events.

const rows = new Map();     // name -> {tr, cells, attribute}
const sections = new Map(); // device -> {section, body, state}
const stale = new Set();    // rows to draw at the next frame
const find = document.getElementById("find");
const state = document.getElementById("stream");

const element = (tag, className, text) => {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
};

function sectionOf(device) {
  let s = sections.get(device);
  if (s) return s;
  document.getElementById("empty")?.remove();
  const section = element("section");
  const title = element("h2", "", device);
  const small = element("small");
  title.append(small);
  const table = element("table");
  const head = element("tr");
  for (const [text, name] of [["Name", ""], ["Value", "value"], ["", "units"], ["Setpoint", ""], ["Alarm", ""], ["Time", "time"], ["", "about"]]) {
    head.append(element("th", name, text));
  }
  const body = element("tbody");
  table.append(element("thead"), body);
  table.firstChild.append(head);
  section.append(title, table);
  s = { section, body, small };
  sections.set(device, s);
  const names = [...sections.keys()].sort();
  const next = names[names.indexOf(device) + 1];
  document.getElementById("devices").insertBefore(section, next ? sections.get(next).section : null);
  return s;
}

function rowOf(attribute) {
  let row = rows.get(attribute.name);
  if (row) return row;
  const [device] = attribute.name.split(".", 1);
  const tr = element("tr");
  const cells = {};
  for (const name of ["name", "value", "units", "put", "alarm", "time", "about"]) {
    tr.append(cells[name] = element("td", name));
  }
  row = { tr, cells, attribute: {} };
  rows.set(attribute.name, row);
  const body = sectionOf(device).body;
  let before = null;
  for (const other of body.children) {
    if (other.dataset.name.localeCompare(attribute.name, "en", { numeric: true }) > 0) { before = other; break; }
  }
  tr.dataset.name = attribute.name;
  body.insertBefore(tr, before);
  return row;
}

function describe(row) {
  const { name, descriptor } = row.attribute;
  const isCommand = descriptor.access === "x";
  const link = element("a", "", name.slice(name.indexOf(".") + 1));
  link.href = `/api/v1/${isCommand ? "commands" : "attributes"}/${name}`;
  row.cells.name.replaceChildren(link);
  row.cells.units.textContent = descriptor.units ?? "";
  row.cells.about.textContent = descriptor.description ?? "";
  row.cells.put.replaceChildren();
  if (descriptor.access.includes("w") || isCommand) row.cells.put.append(formOf(row, isCommand));
}

function formOf(row, isCommand) {
  const { descriptor } = row.attribute;
  const form = element("form");
  const type = isCommand ? descriptor.argument : descriptor;
  if (type) {
    form.append(row.input = type.states?.length ? choice(type.states) : element("input"));
    row.input.setAttribute("aria-label", `new value of ${row.attribute.name}`);
    row.input.addEventListener("change", () => { row.edited = true; });
  }
  form.append(element("button", "", isCommand ? "Run" : "Set"));
  form.addEventListener("submit", (e) => { e.preventDefault(); put(row, isCommand); });
  return form;
}

function choice(states) {
  const select = element("select");
  for (const s of states) select.append(new Option(s.label, s.label));
  return select;
}

async function put(row, isCommand) {
  const { name } = row.attribute;
  const options = isCommand ? { method: "POST" } : { method: "PUT" };
  if (row.input) {
    options.headers = { "Content-Type": "text/plain" };
    options.body = row.input.value;
  }
  let problem = "the gateway did not answer";
  try {
    const answer = await fetch(`/api/v1/${isCommand ? "commands" : "attributes"}/${name}`, options);
    const body = await answer.json();
    problem = answer.ok ? "" : body.detail;
    if (answer.ok) { row.edited = false; merge(row, body); }
  } catch { /* the text above says it */ }
  if (problem) {
    const dialog = document.getElementById("answer");
    dialog.querySelector("p").textContent = problem;
    dialog.showModal();
  }
}

const severities = ["NO_ALARM", "MINOR", "MAJOR", "INVALID"];
const worse = (a, b) => (severities.indexOf(b?.severity) > severities.indexOf(a?.severity) ? b : a);

function format(value, precision) {
  if (value === null || value === undefined) return "\u2013";
  if (Array.isArray(value)) return value.map((v) => format(v, precision)).join("  ");
  if (typeof value === "number" && precision !== undefined) return value.toFixed(precision);
  return String(value);
}

function draw(row) {
  const a = row.attribute;
  const precision = a.descriptor?.precision;
  const isCommand = a.descriptor?.access === "x";
  const readback = "value" in a ? a : a.setpoint;
  row.cells.value.textContent = isCommand ? (a.setpoint?.value ? "running" : "idle") : format(readback?.value, precision);
  row.cells.value.title = row.cells.value.textContent;
  if (row.input && !isCommand && !row.edited && document.activeElement !== row.input && a.setpoint?.value != null) {
    row.input.value = typeof a.setpoint.value === "object" ? JSON.stringify(a.setpoint.value) : a.setpoint.value;
  }
  const alarm = worse(a.alarm ?? { severity: "NO_ALARM" }, a.setpoint?.alarm);
  row.tr.className = a.alarm?.severity ?? "";
  row.cells.alarm.className = `alarm chip ${alarm.severity}`;
  row.cells.alarm.textContent = alarm.severity === "NO_ALARM" ? "" : `${alarm.severity} ${alarm.status}`;
  row.cells.alarm.title = alarm.text ?? "";
  row.cells.time.textContent = readback?.time ? new Date(readback.time).toLocaleTimeString() : "";
}

function merge(row, part) {
  row.attribute = { ...row.attribute, ...part };
  stale.add(row);
  if (stale.size === 1) requestAnimationFrame(() => { for (const r of stale) draw(r); stale.clear(); });
}

function show(row) {
  row.tr.hidden = !row.attribute.name.toLowerCase().includes(find.value.trim().toLowerCase());
}

function onWhole(attribute) {
  const row = rowOf(attribute);
  row.attribute = { ...row.attribute, ...attribute };
  if (attribute.descriptor) describe(row);
  show(row);
  merge(row, {});
  const words = attribute.availability;
  const small = sections.get(attribute.name.split(".", 1)[0]).small;
  small.textContent = words.state === "connected" || words.state === "stale" ? "" : [words.state.replace("_", " "), words.words].filter(Boolean).join(": ");
  small.className = small.textContent ? "INVALID" : "";
}

function onSample(sample) {
  const row = rows.get(sample.name);
  if (!row) return;
  const { value, index, time, alarm, seq } = sample;
  if (sample.role === "setpoint") merge(row, { setpoint: { value, index, time, alarm, seq } });
  else merge(row, { value, index, time, alarm, seq });
}

function onRemoved({ name }) {
  rows.get(name)?.tr.remove();
  rows.delete(name);
}

const source = new EventSource("/api/v1/stream?match=%3E&max_rate=10");
const on = (type, f) => source.addEventListener(type, (e) => f(JSON.parse(e.data)));
on("added", onWhole);
on("described", onWhole);
on("availability", onWhole);
on("sample", onSample);
on("removed", onRemoved);
on("gap", () => { for (const name of [...rows.keys()]) onRemoved({ name }); });
source.onopen = () => { state.textContent = "live"; state.className = "state live"; };
source.onerror = () => { state.textContent = "connection lost, trying again"; state.className = "state lost"; };
find.addEventListener("input", () => { for (const row of rows.values()) show(row); });
