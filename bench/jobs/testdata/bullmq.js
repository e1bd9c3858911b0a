// Measures BullMQ at its defaults: node bullmq.js PORT JOBS CONCURRENCY. It prints how many jobs it adds in bulk in a second, a thousand by one call, and
// how many that do nothing one worker runs in a second, from its start until the server says that all have completed.
const { Queue, Worker } = require('bullmq');

const [port, jobs, concurrency] = process.argv.slice(2).map(Number);
const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };

async function main() {
  const queue = new Queue('bench', { connection });
  await queue.waitUntilReady();
  let began = process.hrtime.bigint();
  for (let i = 0; i < jobs; i += 1000) {
    const part = [];
    for (let k = i; k < Math.min(i + 1000, jobs); k++) part.push({ name: 'noop', data: { n: k, at: 0 } });
    await queue.addBulk(part);
  }
  const bulk = jobs / (Number(process.hrtime.bigint() - began) / 1e9);

  let ran = 0;
  began = process.hrtime.bigint();
  const worker = new Worker('bench', async () => { ran++; }, { connection, concurrency });
  worker.on('error', (err) => { console.error(err); process.exit(1); });
  for (;;) {
    if (ran >= jobs && (await queue.getJobCounts('completed')).completed >= jobs) break;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const drain = jobs / (Number(process.hrtime.bigint() - began) / 1e9);
  console.log(bulk, drain);
  process.exit(0);
}

main().catch((err) => { console.error(err); process.exit(1); });
