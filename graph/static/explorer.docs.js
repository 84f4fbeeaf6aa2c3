// The schema as pages: what introspection says, one type at a time.

import { edit, element } from "/explorer.js";

const docs = document.getElementById("docs");
const trail = document.getElementById("trail");
const find = document.getElementById("find");

const typeRef = "name kind ofType { name kind ofType { name kind ofType { name kind } } }";
const introspection = `{ __schema { queryType { name } mutationType { name } subscriptionType { name } types {
  name kind description
  fields { name description args { name description defaultValue type { ${typeRef} } } type { ${typeRef} } }
  inputFields { name description defaultValue type { ${typeRef} } }
  enumValues { name description }
} } }`;

let types = new Map();
let roots = []; // [operation, name of its type]
let visited = []; // names of types, the present one last

const written = (t) => t.kind === "NON_NULL" ? written(t.ofType) + "!" : t.kind === "LIST" ? "[" + written(t.ofType) + "]" : t.name;
const named = (t) => t.ofType ? named(t.ofType) : t.name;

function link(type) {
  const text = written(type), name = named(type);
  const [before, after] = text.split(name);
  const button = element("button", "link", name);
  button.addEventListener("click", () => visit(name));
  return [before, button, after];
}

function field(f, operation) {
  const item = element("li");
  if (operation) {
    const button = element("button", "try", "try");
    button.addEventListener("click", () => attempt(operation, f));
    item.append(button);
  }
  item.append(element("div", "signature", element("span", "name", f.name), ": ", ...link(f.type)));
  if (f.description) item.append(element("p", "", f.description));
  if (f.args?.length) {
    const list = element("ul", "arguments");
    for (const a of f.args) {
      const line = element("li", "", element("div", "signature", a.name, ": ", ...link(a.type), a.defaultValue ? " = " + a.defaultValue : ""));
      if (a.description) line.append(element("p", "", a.description));
      list.append(line);
    }
    item.append(list);
  }
  return item;
}

const kinds = { OBJECT: "type", INPUT_OBJECT: "input", ENUM: "enum", SCALAR: "scalar" };

function showType(name) {
  const t = types.get(name);
  const operation = roots.find(([, n]) => n === name)?.[0];
  const parts = [element("h3", "", t.name, " ", element("small", "", kinds[t.kind] ?? ""))];
  if (t.description) parts.push(element("p", "", t.description));
  const list = element("ul");
  for (const f of [...t.fields, ...t.inputFields]) list.append(field(f, operation));
  for (const v of t.enumValues) {
    const item = element("li", "", element("div", "signature", element("span", "name", v.name)));
    if (v.description) item.append(element("p", "", v.description));
    list.append(item);
  }
  docs.replaceChildren(...parts, list);
}

function showRoots() {
  const parts = [];
  for (const [operation, name] of roots) {
    const t = types.get(name);
    const list = element("ul");
    for (const f of t.fields) list.append(field(f, operation));
    parts.push(element("h3", "", operation), element("p", "", t.description), list);
  }
  docs.replaceChildren(...parts);
}

// visit shows a type; a name that was visited before goes back to it.
function visit(name) {
  const before = visited.indexOf(name);
  visited = name === "" ? [] : before >= 0 ? visited.slice(0, before + 1) : [...visited, name];
  find.value = "";
  show();
}

function show() {
  const crumbs = ["", ...visited].map((name) => {
    const button = element("button", "link", name || "operations");
    button.addEventListener("click", () => visit(name));
    return button;
  });
  trail.replaceChildren(...crumbs.flatMap((c, i) => i ? ["›", c] : [c]));
  if (visited.length) showType(visited.at(-1));
  else showRoots();
  docs.parentElement.scrollTop = 0;
}

function search() {
  const text = find.value.trim().toLowerCase();
  if (!text) return show();
  const list = element("ul");
  for (const t of types.values()) {
    const hit = (name, words) => name.toLowerCase().includes(text) || words?.toLowerCase().includes(text);
    if (hit(t.name, t.description)) list.append(element("li", "", element("div", "signature", ...link({ name: t.name })), element("p", "", t.description ?? "")));
    for (const f of [...t.fields, ...t.inputFields, ...t.enumValues]) {
      if (hit(f.name, f.description)) list.append(element("li", "", element("div", "signature", ...link({ name: t.name }), ".", element("span", "name", f.name)), element("p", "", f.description ?? "")));
    }
  }
  docs.replaceChildren(list.children.length ? list : element("p", "", "Nothing has that in its name or description."));
}

// attempt writes a query for a field: with its arguments as variables, and with
// the plain fields of what it returns.
function attempt(operation, f) {
  const needed = f.args.filter((a) => a.type.kind === "NON_NULL" && a.defaultValue === null || a.name === "match");
  const declared = needed.map((a) => `$${a.name}: ${written(a.type)}`).join(", ");
  const passed = needed.map((a) => `${a.name}: $${a.name}`).join(", ");
  const query = `${operation}${declared ? ` (${declared})` : ""} {
  ${f.name}${passed ? `(${passed})` : ""}${selection(f.type, "  ", 3)}
}`;
  const sample = { String: a => a.name === "match" ? ">" : "device.attribute", Value: () => 1 };
  const variables = Object.fromEntries(needed.map((a) => [a.name, sample[named(a.type)]?.(a) ?? []]));
  edit(query, needed.length ? JSON.stringify(variables, null, 2) : "");
}

function selection(type, indent, depth) {
  const t = types.get(named(type));
  if (t.kind !== "OBJECT") return "";
  const lines = [];
  for (const f of t.fields) {
    const below = types.get(named(f.type));
    if (f.args.length || below.kind === "OBJECT" && (depth === 1 || below.fields.length > 12)) continue;
    lines.push(indent + "  " + f.name + selection(f.type, indent + "  ", depth - 1));
  }
  return ` {\n${lines.join("\n") || indent + "  __typename"}\n${indent}}`;
}

export async function showDocs() {
  const response = await fetch("/graphql", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query: introspection }),
  });
  const { data } = await response.json();
  // Where a kind of type has no such list, some servers say null and some an empty one.
  const whole = (t) => ({ ...t, fields: t.fields ?? [], inputFields: t.inputFields ?? [], enumValues: t.enumValues ?? [] });
  types = new Map(data.__schema.types.filter((t) => !t.name.startsWith("__")).map((t) => [t.name, whole(t)]));
  const schema = data.__schema;
  roots = [["query", schema.queryType], ["mutation", schema.mutationType], ["subscription", schema.subscriptionType]].map(([o, t]) => [o, t.name]);
  find.addEventListener("input", search);
  show();
}
