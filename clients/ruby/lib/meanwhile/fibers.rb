# frozen_string_literal: true

require "meanwhile/errors"
require "meanwhile/outcomes"

module Meanwhile
  # Fibers runs each attempt in its own fiber. All fibers share one thread; when one waits, a fiber scheduler runs another.
  class Fibers
    # async returns the scheduler argument of Fibers for the gem async. Raises ConfigError.
    def self.async
      require "async"
      ->(work) { Async { work.call } }
    rescue LoadError
      raise ConfigError, "fibers need the gem async: add it to the Gemfile", cause: nil
    end

    # The scheduler is a lambda that calls its argument in a fiber, under a fiber scheduler, and returns when that fiber has ended.
    def initialize(scheduler)
      @scheduler = scheduler
      @todo = Queue.new
    end

    # run yields each attempt in its own fiber. It runs in the calling thread until that is killed.
    def run(&execute)
      @scheduler.call(lambda do
        loop do
          attempt, error = @todo.pop
          error ? raise_in(attempt, error) : Fiber.schedule { execute.call(attempt) }
        end
      end)
    end

    # << queues an attempt to be run. Any thread may call it and interrupt.
    def <<(attempt)
      @todo << [attempt]
    end

    # interrupt raises an error at the place where the handler of an attempt waits. It does nothing if the attempt has not started or has ended.
    def interrupt(attempt, error)
      @todo << [attempt, error]
    end

    # within yields in the fiber of an attempt. During the call Meanwhile.job returns the attempt, and interrupt can reach it.
    def within(attempt)
      Thread.current[:meanwhile_job] = attempt # only in this fiber
      attempt.deadline = attempt.timeout && now + attempt.timeout
      attempt.fiber = Fiber.current
      yield
    ensure
      attempt.fiber = attempt.deadline = Thread.current[:meanwhile_job] = nil
    end

    # end_overdue interrupts attempts whose timeout has passed.
    def end_overdue(attempts)
      attempts.each do |a|
        next unless (deadline = a.deadline) && now > deadline

        a.deadline = nil
        interrupt(a, TimedOut.new(TimedOut.text(a.timeout)))
      end
    end

    private

    # Only the scheduler can raise an error in a fiber that it switches to by transfer, as async does from version 2, and return here afterwards. The
    # fiber of an attempt cannot be interrupted while it waits for a fiber that it created itself, such as that of an Enumerator.
    def raise_in(attempt, error)
      return unless (fiber = attempt.fiber)

      scheduler = Fiber.scheduler
      scheduler.respond_to?(:raise) ? scheduler.raise(fiber, error) : fiber.raise(error)
    rescue FiberError
      nil
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
