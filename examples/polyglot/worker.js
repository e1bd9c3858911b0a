// A worker in Node: claims jobs over HTTP, runs them, extends their leases while they run, and ends gracefully at TERM.
const { createHash } = require("node:crypto");
const { hostname } = require("node:os");

const { URL: url, TOKEN: token } = process.env;
const name = `${hostname()}:${process.pid}`;
const lease = 30; // seconds; extended every third of it
const held = new Map(); // session: IDs of the jobs that run
let stopping = false;

const kinds = {
  "text.hash": async ({ text }) => ({ sha256: createHash("sha256").update(text).digest("hex") }),
};

async function call(path, body) {
  const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(90_000) });
  const text = await answer.text();
  if (!answer.ok) throw Object.assign(new Error(`${path}: ${answer.status} ${text}`), { refused: answer.status < 500 });
  return text ? JSON.parse(text) : null;
}

async function again(path, body) { // finish and extend may be sent twice
  for (;;) {
    try {
      return await call(path, body);
    } catch (e) {
      if (e.refused || stopping) throw e;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

async function extend() { // as long as the process lives
  const worker = { name, host: hostname(), pid: process.pid, language: `node ${process.versions.node}`, concurrency: 10 };
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, (lease / 3) * 1000).unref());
    const sessions = [...held].map(([session, jobs]) => ({ session, jobs }));
    const answer = await again("/worker/extend", { worker, lease, sessions }).catch(console.error);
    stopping ||= answer?.state === "stop";
  }
}
process.on("SIGTERM", () => { stopping = true; });

async function run(session, job) {
  const end = { session, id: job.id, attempt: job.attempt };
  try {
    return { ...end, outcome: "completed", result: await kinds[job.kind](job.args) };
  } catch (e) {
    return { ...end, outcome: "failed", error: { type: e.name, message: e.message, backtrace: (e.stack ?? "").split("\n") } };
  }
}

extend();
(async () => {
  while (!stopping) { // the wait is short, so that the worker stops soon after TERM
    const { session, jobs } = await again("/worker/claim", { worker: name, queues: ["default"], kinds: Object.keys(kinds), limit: 10, lease, wait: 2 });
    held.set(session, jobs.map((job) => job.id));
    await Promise.all(jobs.map(async (job) => again("/worker/finish", { ends: [await run(session, job)] })));
    held.delete(session);
  }
  await call("/worker/leave", { worker: name });
})();
