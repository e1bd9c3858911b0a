# frozen_string_literal: true

# Documents have to be indexed by a search engine that needs 50 ms for each. This runs 1,000 such jobs with Active Job's own adapter :async with three
# threads, which keeps jobs in memory, and with a meanwhile server and one worker: with 100 threads and, if the gem async is installed, with 100
# fibers. A job only waits, so the number of concurrent jobs decides. Start the server first; its own worker must not run the jobs:
#
#   go run ./cmd/meanwhile serve --concurrency 0 --store sqlite:documents.db
#   ruby clients/ruby/examples/documents.rb          1,000 documents
#   ruby clients/ruby/examples/documents.rb 100      fewer
#
# It prints a table with the seconds to enqueue all jobs and to run them.

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))

require "active_job"
require "meanwhile"
require "meanwhile/worker"

ActiveJob::Base.logger = nil
Meanwhile.logger = Meanwhile::JobLogger.new(nil)

QUEUE = "documents-#{Process.pid}" # only of this run
DONE = Queue.new

# IndexJob stands for a call of a search engine.
class IndexJob < ActiveJob::Base
  queue_as QUEUE

  def perform(number)
    sleep 0.05
    DONE << number
  end
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# measure returns the seconds to enqueue the jobs, and the seconds to run them after `start` lets them start.
def measure(number, enqueue:, start: nil)
  begun = now
  enqueue.call
  enqueued = now
  start&.call
  number.times { DONE.pop }
  [enqueued - begun, now - enqueued]
end

def async(number)
  IndexJob.queue_adapter = ActiveJob::QueueAdapters::AsyncAdapter.new(min_threads: 3, max_threads: 3)
  measure(number, enqueue: -> { number.times { |i| IndexJob.perform_later(i) } })
end

def meanwhile(number, **options)
  IndexJob.queue_adapter = :meanwhile
  worker = Meanwhile::Worker.new(concurrency: 100, queues: [QUEUE], **options)
  thread = nil
  jobs = Array.new(number) { |i| IndexJob.new(i) }
  measure(number, enqueue: -> { IndexJob.queue_adapter.enqueue_all(jobs) }, start: -> { thread = Thread.new { worker.run } })
ensure
  worker.stop
  thread&.value
end

def fibers(number)
  meanwhile(number, fibers: Meanwhile::Fibers.async)
end

ways = { "Active Job's :async, 3 threads" => :async, "meanwhile, one worker, 100 threads" => :meanwhile }
ways["meanwhile, one worker, 100 fibers"] = :fibers if Gem::Specification.any? { |gem| gem.name == "async" }
number = Integer(ARGV.fetch(0, 1000))
puts format("%-36s %10s %10s", "#{number} jobs of 50 ms", "enqueue", "run")
ways.each do |name, method|
  puts format("%-36s %8.2f s %8.2f s", name, *send(method, number))
end
