# frozen_string_literal: true

# The subjects of the Go benchmarks with Ruby's gem async, in the form of Go's benchmark results:
#
#     ruby bench/ruby/tasks.rb
#
# A fiber takes two memory mappings, of which Linux gives a process 65,530 by default: so 20,000 tasks take part where
# the others have 100,000.
require "async"
require "async/semaphore"

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# The median time of some runs, in seconds.
def median(runs)
  times = Array.new(runs) do
    begun = now
    yield
    now - begun
  end
  times.sort[runs / 2]
end

def report(name, *figures)
  puts "Benchmark#{name} 1 " + figures.each_slice(2).map { |value, unit| format("%.2f %s", value, unit) }.join(" ")
  $stdout.flush
end

# The results are in the order of the items.
def map(parent, items, limit)
  semaphore = Async::Semaphore.new(limit, parent: parent)
  items.map { |item| semaphore.async { |task| yield item, task } }.map(&:wait)
end

def resident
  File.read("/proc/self/statm").split[1].to_i * 4096
rescue SystemCallError
  0
end

Async do |parent|
  n = 1000
  s = median(20) { Array.new(n) { |i| parent.async { i } }.each(&:wait) }
  report("Spawn/n=#{n}/parent=background/lib=ruby", s * 1e9 / n, "ns/task")

  n = 100_000
  items = (0...n).to_a
  s = median(3) { map(parent, items, 64) { |i| 2 * i } == items.map { |i| 2 * i } or raise }
  report("Map/item=trivial/limit=64/lib=ruby", s * 1e9 / n, "ns/item")

  s = median(3) { map(parent, (0...4000), 64) { |i, task| task.sleep(i % 100 == 0 ? 0.020 : 0.001) } }
  report("Slow/lib=ruby", s * 1e3, "ms")

  s = median(3) { map(parent, (0...10_000), 1000) { |_, task| task.sleep(0.001) } }
  report("Wait1ms/lib=ruby", s * 1e3, "ms")

  s = median(1) { Array.new(1000) { parent.async { |task| task.sleep(0.5) } }.each(&:wait) }
  report("Wait500ms/lib=ruby", s * 1e3, "ms")

  numbers = [0, 1, 2, 3, 4]
  rounds = 2000
  s = median(3) { rounds.times { numbers.map { |i| 2 * i } } }
  report("Small/lib=ruby-loop", s * 1e9 / rounds, "ns/map")
  s = median(3) { rounds.times { map(parent, numbers, 64) { |i| 2 * i } } }
  report("Small/lib=ruby", s * 1e9 / rounds, "ns/map")

  n = 20_000
  GC.start
  before = resident
  tasks = Array.new(n) { parent.async { |task| task.sleep(3600) } }
  GC.start
  report("Memory/n=#{n}/lib=ruby", (resident - before).fdiv(n), "rss-B/task")
  tasks.each(&:stop)

  s = Array.new(3) do
    tasks = Array.new(n) { parent.async { |task| task.sleep(3600) } }
    begun = now
    tasks.each(&:stop)
    tasks.each(&:wait)
    now - begun
  end.sort[1]
  report("Cancel/n=#{n}/by=parent/lib=ruby", s * 1e3, "ms")
end
