// What the library graphql-ws makes of the gateway at the address that is the
// argument. It prints a line for each thing; graphqlws_test.go waits for them.
import { createClient } from "graphql-ws";
import WebSocket from "ws";

const client = createClient({
  url: process.argv[2],
  webSocketImpl: WebSocket,
  lazyCloseTimeout: 1000, // one connection for all that follows
  retryAttempts: Infinity,
  shouldRetry: () => true, // also while nobody listens
  retryWait: () => new Promise((again) => setTimeout(again, 50)),
  on: {
    closed: ({ code }) => {
      if (code !== 1006) console.log("closed", code); // 1006: nobody listened
    },
  },
});

// ask returns the data, or the code and stage of the error, whichever way it came.
async function ask(query, variables) {
  try {
    for await (const { data, errors } of client.iterate({ query, variables })) {
      if (!errors) return data;
      throw errors;
    }
  } catch (errors) {
    const { code, stage } = errors[0].extensions;
    return [code, stage].filter(Boolean).join(" ");
  }
}

const start = await ask(`{ attribute(name: "demo.r1.start") { readback { value } } }`);
console.log("query", start.attribute.readback.value);
const put = `mutation($v: Value!) { put(name: "demo.r1.start", value: $v) { stage readback { value } } }`;
const done = await ask(put, { v: 12 });
console.log("put", done.put.stage, done.put.readback.value);
console.log("put", await ask(put, { v: 1000 }));
console.log("put", await ask(put, { v: "hot" }));
console.log("query", await ask(`{ attribute(name: "demo.nothing") { name } }`));
console.log("query", await ask(`{ nonsense }`));
console.log("subscribe", await ask(`subscription { updates(match: "demo..") { cursor } }`));
console.log("subscribe", await ask(`subscription { updates(match: "demo.*", cursor: "nonsense") { cursor } }`));

// The library subscribes anew with the request as it is then, so with the cursor
// that is put into it.
const request = {
  query: `subscription($cursor: String) {
    updates(match: "demo.*.actual", cursor: $cursor) { cursor events { type name lost sample { seq } } }
  }`,
  variables: { cursor: null },
};
const seqs = new Map();
let missing = 0;
let samples = 0;
let step = 0; // one more with each complete snapshot, and with each thing done then
for await (const { data } of client.iterate(request)) {
  for (const { type, name, lost, sample } of data.updates.events) {
    if (type === "GAP") {
      console.log("gap");
      seqs.clear(); // another life of the driver
    } else if (type === "SYNCED") {
      console.log("synced");
      step++;
      samples = 0;
    } else if (type === "SAMPLE") {
      samples++;
      missing += lost;
      const seq = BigInt(sample.seq);
      if (seqs.has(name) && seq !== seqs.get(name) + 1n) missing++;
      seqs.set(name, seq);
    }
  }
  request.variables.cursor = data.updates.cursor ?? request.variables.cursor;
  if (samples < 8) continue;
  if (step === 1) {
    console.log("following");
    step = 2;
  } else if (step === 3) {
    // As if the network had gone: the gateway, which still knows, goes on behind the cursor.
    client.terminate();
    step = 4;
  } else if (step === 5) {
    break;
  }
}
console.log("missing", missing);
await client.dispose();
