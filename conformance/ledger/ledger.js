// Pushes jobs and runs them with the Node client of Faktory, with the server of FAKTORY_URL, and prints what it does. On USR2 it stops pushing, on
// TERM it exits.
const faktory = require("faktory-worker");

let producing = true;
process.on("SIGUSR2", () => { producing = false; });

// If a push was not answered, the job may exist or not.
async function produce() {
  const client = new faktory.Client();
  for (let n = 0; producing; n++) {
    const job = client.job("ledger", n);
    job.reserveFor = 60;
    try {
      console.log("pushed", await job.push());
    } catch (error) {
      console.error(`push: ${error.message}`);
    }
    await new Promise((done) => setTimeout(done, 20));
  }
}

faktory.register("ledger", () => ({ job }) => console.log("began", job.jid));
process.on("SIGTERM", () => faktory.stop().finally(() => process.exit(0)));
faktory.work({ concurrency: 4, handleSignals: false });
produce();
