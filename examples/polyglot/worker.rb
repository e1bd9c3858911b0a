# A worker in Ruby: claims jobs over HTTP, runs them in threads, extends their leases while they run, and ends gracefully at TERM.
require "json"
require "net/http"
require "socket"

URL, TOKEN = ENV.values_at("URL", "TOKEN")
HOST = Socket.gethostname
NAME = "#{HOST}:#{Process.pid}"
LEASE = 30 # seconds; extended every third of it
KINDS = {
  "text.title" => ->(args) { { title: args["text"].split.map(&:capitalize).join(" ") } }
}.freeze
Refused = Class.new(StandardError) # it is no use to send that again

$stopping = false
$held = {} # session: IDs of the jobs that run

def call(path, body)
  headers = { "Content-Type" => "application/json" }
  headers["Authorization"] = "Bearer #{TOKEN}" if TOKEN
  uri = URI(URL + path)
  answer = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", read_timeout: 90) do |http|
    http.post(uri.path, JSON.generate(body), headers)
  end
  raise (answer.code < "500" ? Refused : IOError), "#{path}: #{answer.code} #{answer.body}" unless answer.is_a?(Net::HTTPSuccess)

  JSON.parse(answer.body) if answer.body.to_s != ""
end

def again(path, body) # finish and extend may be sent twice
  call(path, body)
rescue StandardError => e
  raise if e.is_a?(Refused) || $stopping

  sleep 1
  retry
end

def extend_leases
  about = { name: NAME, host: HOST, pid: Process.pid, language: "ruby #{RUBY_VERSION}", concurrency: 10 }
  sessions = $held.to_a.map { |session, jobs| { session: session, jobs: jobs } }
  $stopping = true if again("/worker/extend", { worker: about, lease: LEASE, sessions: sessions })["state"] == "stop"
rescue StandardError => e
  warn e.full_message # the next time may be better
end

def run(session, job)
  attempt = { session: session, id: job["id"], attempt: job["attempt"] }
  attempt.merge(outcome: "completed", result: KINDS.fetch(job["kind"]).call(job["args"]))
rescue StandardError => e
  attempt.merge(outcome: "failed", error: { type: e.class.name, message: e.message, backtrace: e.backtrace })
end

trap("TERM") { $stopping = true }
Thread.new { sleep(LEASE / 3) && extend_leases while true }
until $stopping # the wait is short, so that the worker stops soon after TERM
  wanted = { worker: NAME, queues: ["default"], kinds: KINDS.keys, limit: 10, lease: LEASE, wait: 2 }
  session, jobs = again("/worker/claim", wanted).values_at("session", "jobs")
  $held[session] = jobs.map { |job| job["id"] }
  jobs.map { |job| Thread.new { again("/worker/finish", { ends: [run(session, job)] }) } }.each(&:join)
  $held.delete(session)
end
call("/worker/leave", { worker: NAME })
