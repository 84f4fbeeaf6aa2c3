// The explorer: write a query, run it, follow a subscription, read the schema.
// It talks to /graphql as any client does.

import { showDocs } from "/explorer.docs.js";

const $ = (id) => document.getElementById(id);
const kept = 100; // deliveries of a subscription that are shown

let running = null; // AbortController of what is under way

// element makes an element with text or children in it.
export function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function say(text, className = "") {
  $("state").textContent = text;
  $("state").className = "state " + className;
}

// pretty shows JSON text with its digits as they are: parsing would round large numbers.
function pretty(json) {
  const pre = element("pre");
  const indent = (n) => "\n" + "  ".repeat(n);
  let depth = 0, plain = "";
  const flush = () => { if (plain) pre.append(plain); plain = ""; };
  const colour = (className, text) => { flush(); pre.append(element("span", className, text)); };
  const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/g;
  const tokens = json.match(token) || [];
  tokens.forEach((t, i) => {
    const next = tokens[i + 1];
    if (t === "{" || t === "[") {
      plain += t;
      if (next !== "}" && next !== "]") plain += indent(++depth);
    } else if (t === "}" || t === "]") {
      if (tokens[i - 1] !== "{" && tokens[i - 1] !== "[") plain += indent(--depth);
      plain += t;
    } else if (t === ",") plain += "," + indent(depth);
    else if (t === ":") plain += ": ";
    else if (t[0] === '"') colour(next === ":" ? "key" : "text", next === ":" ? JSON.parse(t) : t);
    else colour(/[\d-]/.test(t[0]) ? "number" : "word", t);
  });
  flush();
  return pre;
}

function shown(text) {
  const out = element("div");
  let answer;
  try { answer = JSON.parse(text); } catch { return element("div", "failed", text); }
  for (const error of answer.errors || []) {
    out.append(element("p", "failed", element("code", "", error.extensions?.code || "error"), error.message));
  }
  out.append(pretty(text));
  return out;
}

function request() {
  let variables;
  const text = $("variables").value.trim();
  if (text) {
    try { JSON.parse(text); } catch (e) { throw new Error("The variables are not JSON: " + e.message); }
    variables = text;
  }
  // Put together as text, so that numbers in the variables keep their digits.
  return `{"query":${JSON.stringify($("query").value)}${variables ? `,"variables":${variables}` : ""}}`;
}

async function run() {
  if (running) return running.abort();
  const answer = $("answer");
  answer.replaceChildren();
  $("about").textContent = "";
  let body;
  try { body = request(); } catch (e) { answer.replaceChildren(element("p", "failed", e.message)); return; }
  remember();
  const control = running = new AbortController();
  $("run").textContent = "Stop";
  $("run").classList.add("stop");
  say("asking", "live");
  const began = performance.now();
  try {
    const response = await fetch("/graphql", {
      method: "POST", body, signal: control.signal,
      headers: { "Content-Type": "application/json", Accept: "text/event-stream, application/json" },
    });
    if (!response.headers.get("Content-Type").startsWith("text/event-stream")) {
      answer.replaceChildren(shown(await response.text()));
      say("");
    } else {
      await follow(response.body, began);
    }
  } catch (e) {
    if (control.signal.aborted) say("stopped");
    else {
      answer.prepend(element("p", "failed", "The gateway does not answer: " + e.message));
      say("no connection", "bad");
    }
  } finally {
    running = null;
    $("run").textContent = "Run";
    $("run").classList.remove("stop");
  }
}

// follow shows the events of a stream, the newest first.
async function follow(body, began) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", count = 0, complete = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.match(/^data: (.*)$/m)?.[1];
      if (/^event: complete$/m.test(event)) complete = true;
      else if (data) show(data, ++count, began);
    }
  }
  say(complete ? "" : "the gateway ended the stream", complete ? "" : "bad");
  if (complete && count === 1) $("about").textContent = Math.round(performance.now() - began) + " ms";
}

function show(data, count) {
  const answer = $("answer");
  answer.prepend(element("article", "", shown(data)));
  if (count > 1) {
    say(count + " deliveries", "live");
    if (count === 2) answer.lastChild.prepend(element("time", "", "at first"));
    answer.firstChild.prepend(element("time", "", new Date().toLocaleTimeString()));
  }
  while (answer.children.length > kept) answer.lastChild.remove();
}

// The last query stays for the next visit.
function remember() {
  try {
    localStorage.setItem("query", $("query").value);
    localStorage.setItem("variables", $("variables").value);
  } catch { /* a browser may forbid it */ }
}

function recall() {
  try { return [localStorage.getItem("query"), localStorage.getItem("variables")]; } catch { return [null, null]; }
}

export function edit(query, variables = "") {
  $("query").value = query;
  $("variables").value = variables;
}

// examples are made with names that exist here.
async function examples() {
  let list = [], command = "device.command";
  try {
    const response = await fetch("/graphql", {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query: `{ attributes(first: 200) { attributes { name descriptor { kind access } readback { value } setpoint { value } } }
        commands(first: 1) { commands { name } } }` }),
    });
    const { data } = await response.json();
    list = data.attributes.attributes;
    command = data.commands.commands[0]?.name ?? command;
  } catch { /* then the examples have made-up names */ }
  const readable = list.find((a) => a.readback && a.descriptor.kind.startsWith("FLOAT")) ?? list.find((a) => a.readback);
  const writable = list.find((a) => a.setpoint && a.descriptor.kind !== "BYTES");
  const name = readable?.name ?? "device.attribute";
  const target = writable?.name ?? "device.attribute";
  const value = writable?.setpoint.value ?? writable?.readback?.value ?? 1;
  return [
    ["Devices", `{
  devices {
    name
    description
    availability { state words }
    attributes(first: 20) {
      attributes {
        name
        readback { text }
        descriptor { units }
      }
      next
    }
  }
}`],
    ["One attribute", `query One($name: String!) {
  attribute(name: $name) {
    readback {
      value time seq
      alarm { severity status text }
    }
    setpoint { value time }
    descriptor {
      description kind access units precision
      control { low high }
    }
  }
}`, { name }],
    ["What is in alarm", `{
  attributes(severity: [MINOR, MAJOR, INVALID]) {
    attributes {
      name
      alarm { severity status text }
      readback { text time }
    }
    next
  }
}`],
    ["Follow changes", `subscription Changes($match: String!) {
  updates(match: $match, maxRate: 2) {
    events {
      type name role lost
      sample { value time alarm { severity } }
      attribute { readback { text } }
    }
    cursor
  }
}`, { match: name.split(".")[0] + ".>" }],
    ["Put a value", `mutation Put($name: String!, $value: Value!) {
  put(name: $name, value: $value) {
    stage
    setpoint { value time }
    readback { value time }
  }
}`, { name: target, value }],
    ["Put many", `mutation PutMany($puts: [PutInput!]!) {
  putMany(puts: $puts) {
    name
    stage
    error { code message }
  }
}`, { puts: [{ name: target, value }, { name, value: 1 }] }],
    ["Run a command", `mutation Execute($name: String!) {
  execute(name: $name) { stage result }
}`, { name: command }],
  ];
}

async function start() {
  const all = await examples();
  const select = $("examples");
  select.append(...all.map(([title]) => element("option", "", title)));
  const choose = () => {
    const [, query, variables] = all[select.selectedIndex];
    edit(query, variables ? JSON.stringify(variables, null, 2) : "");
  };
  select.addEventListener("change", choose);
  const [query, variables] = recall();
  if (query) {
    select.selectedIndex = -1;
    edit(query, variables ?? "");
  } else choose();
  $("answer").replaceChildren(element("p", "hint", "Choose an example or write a query, and run it with Ctrl+Enter. The schema on the side says what there is; “try” writes a query for it."));
  $("run").addEventListener("click", run);
  document.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); }
  });
  $("query").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.ctrlKey && !e.metaKey) { // keeps the indent
      const line = e.target.value.slice(0, e.target.selectionStart).split("\n").pop();
      const indent = line.match(/^ */)[0] + (/[{(]\s*$/.test(line) ? "  " : "");
      if (indent) { e.preventDefault(); document.execCommand("insertText", false, "\n" + indent); }
    }
  });
  document.body.dataset.ready = "yes";
  await showDocs();
}

start();
