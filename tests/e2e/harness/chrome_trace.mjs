// Prints what the trace parser of Chrome's DevTools finds in a trace:
//
//   node chrome_trace.mjs ENGINE TRACE
//
// JSON: [{pid, tid, calls: [{name, parent, begin_us, dur_us}]}], parent an index into calls, or null.
// ENGINE: what tests/lib/trace_engine.py has provided.
import fs from 'node:fs';
import {pathToFileURL} from 'node:url';

const [engine, file] = process.argv.slice(2);
const Trace = await import(pathToFileURL(`${engine}/node_modules/@paulirish/trace_engine/models/trace/trace.js`).href);

// The threads, and what that needs.
const {Meta, Renderer, Samples, AuctionWorklets, NetworkRequests} = Trace.Handlers.ModelHandlers;
const processor = new Trace.Processor.TraceProcessor({Meta, Renderer, Samples, AuctionWorklets, NetworkRequests},
                                                     Trace.Types.Configuration.defaults());
await processor.parse(JSON.parse(fs.readFileSync(file, 'utf8')).traceEvents, {});

function callsOf(tree) {
  const calls = [];
  const add = (node, parent) => {
    const {name, ts, dur} = node.entry;
    const index = calls.push({name, parent, begin_us: ts, dur_us: dur}) - 1;
    for (const child of node.children) add(child, index);
  };
  for (const root of tree.roots) add(root, null);
  return calls;
}

const threads = [];
for (const [pid, {threads: found}] of processor.data.Renderer.processes) {
  for (const [tid, {tree}] of found) threads.push({pid, tid, calls: callsOf(tree)});
}
console.log(JSON.stringify(threads));
