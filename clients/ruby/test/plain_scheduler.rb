# frozen_string_literal: true

# PlainScheduler is a minimal fiber scheduler: fibers can sleep, and wait for a lock or a queue.
class PlainScheduler
  def initialize
    @lock = Mutex.new
    @ready = []
    @waiting = {} # fibers, with the latest time at which they continue
    @reader, @writer = IO.pipe
  end

  def fiber(&block)
    Fiber.new(blocking: false, &block).tap(&:resume)
  end

  def block(_blocker, timeout = nil)
    @waiting[Fiber.current] = timeout ? now + timeout : Float::INFINITY
    leave
  ensure
    @waiting.delete(Fiber.current)
  end

  def unblock(_blocker, fiber)
    @lock.synchronize { @ready << fiber }
    @writer.write_nonblock(".", exception: false)
  end

  def kernel_sleep(seconds = nil)
    block(:sleep, seconds)
  end

  def io_wait(io, events, timeout)
    Thread.new { io.wait(events, timeout) }.value
  end

  # run runs as long as a fiber waits.
  def run
    until @waiting.empty?
      due = @waiting.values.min
      @reader.read_nonblock(1000, exception: false) if @reader.wait_readable(due == Float::INFINITY ? nil : [due - now, 0].max)
      woken = @lock.synchronize { @ready.slice!(0..) } + @waiting.select { |_, at| at <= now }.keys
      woken.uniq.each { |fiber| enter(fiber) if fiber.alive? }
    end
  end

  def close
    run
  end

  private

  def enter(fiber)
    fiber.resume
  end

  def leave
    Fiber.yield
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
