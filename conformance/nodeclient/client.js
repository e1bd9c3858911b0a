// Runs jobs with the Node client of Faktory, with the server of FAKTORY_URL, and prints what it observed as JSON.
const faktory = require("faktory-worker");

async function main() {
  const seen = new Map();
  let failures = 0;
  faktory.register("count", async (n) => seen.set(n, (seen.get(n) || 0) + 1));
  faktory.register("fail", async () => {
    failures++;
    throw new Error("no");
  });
  const client = await faktory.connect();
  for (let i = 0; i < 50; i++) await client.job("count", i).push();
  const bulk = [];
  for (let i = 50; i < 100; i++) bulk.push(client.job("count", i));
  const rejected = await client.pushBulk(bulk);
  const job = client.job("fail", 1);
  job.retry = -1;
  await job.push();

  const worker = await faktory.work({ concurrency: 4, handleSignals: false, labels: ["node", "conformance"] });
  const end = Date.now() + 30000;
  while (Date.now() < end && (seen.size < 100 || failures < 1)) await new Promise((done) => setTimeout(done, 20));
  await worker.stop();
  const info = await client.info();
  await client.close();
  const twice = [...seen.values()].filter((n) => n > 1).length;
  console.log(JSON.stringify({ done: seen.size, twice, failed: failures, rejected: Object.keys(rejected).length, dead: info.faktory.sets.dead }));
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
