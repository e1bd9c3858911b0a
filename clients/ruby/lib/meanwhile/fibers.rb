# frozen_string_literal: true

require "meanwhile/errors"
require "meanwhile/outcomes"

module Meanwhile
  # Fibers runs each attempt in a fiber of its own. All share one thread, which a fiber scheduler has run another one whenever one waits.
  class Fibers
    # async returns what Fibers wants for the scheduler of the gem async. Raises ConfigError.
    def self.async
      require "async"
      ->(work) { Async { work.call } }
    rescue LoadError
      raise ConfigError, "fibers need the gem async: add it to the Gemfile", cause: nil
    end

    # The scheduler is a lambda that calls its argument in a fiber, under a scheduler, and returns when that has ended.
    def initialize(scheduler)
      @scheduler = scheduler
      @todo = Queue.new
    end

    # run yields each attempt in its fiber, in the calling thread, until that is killed.
    def run(&execute)
      @scheduler.call(lambda do
        loop do
          attempt, error = @todo.pop
          error ? raise_in(attempt, error) : Fiber.schedule { execute.call(attempt) }
        end
      end)
    end

    # << has an attempt run. Any thread may call it, as well as interrupt.
    def <<(attempt)
      @todo << [attempt]
    end

    # interrupt raises an error at the place where the handler of an attempt waits. One that has ended, or not begun, is left alone.
    def interrupt(attempt, error)
      @todo << [attempt, error]
    end

    # within yields in the fiber of an attempt, whose job it is meanwhile and which may be interrupted meanwhile.
    def within(attempt)
      Thread.current[:meanwhile_job] = attempt # of this fiber alone
      attempt.deadline = attempt.timeout && now + attempt.timeout
      attempt.fiber = Fiber.current
      yield
    ensure
      attempt.fiber = attempt.deadline = Thread.current[:meanwhile_job] = nil
    end

    # end_overdue interrupts those of the attempts whose timeout is over.
    def end_overdue(attempts)
      attempts.each do |a|
        next unless (deadline = a.deadline) && now > deadline

        a.deadline = nil
        interrupt(a, TimedOut.new(TimedOut.text(a.timeout)))
      end
    end

    private

    # The fiber of an attempt cannot be interrupted while it waits for one that it made itself, such as that of an Enumerator.
    def raise_in(attempt, error)
      attempt.fiber&.raise(error)
    rescue FiberError
      nil
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
