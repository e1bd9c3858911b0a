# frozen_string_literal: true

require "timeout"

module Meanwhile
  # Runner runs attempts in the calling thread or fiber and returns how they ended.
  class Runner
    MOST_MESSAGE = 8 << 10     # bytes
    MOST_BACKTRACE = 16 << 10  # bytes
    MOST_ENTRY = 1 << 10       # bytes of one entry of a backtrace
    UNKNOWN_DELAY = 30         # seconds after which a job of a kind without a handler is due again
    RESULTS = [Hash, Array, String, Numeric, TrueClass, FalseClass].freeze
    private_constant :RESULTS

    # fibers is the Fibers that runs the attempts, or nil with threads.
    def initialize(handlers, logger, fibers)
      @handlers = handlers
      @logger = logger
      @fibers = fibers
    end

    # run returns the Ledger::Ending of the attempt. Stopping can be raised only while the handler runs: the caller has deferred it.
    def run(attempt)
      return released(attempt) if attempt.stopped

      encode(attempt, attempt.canceled? ? { "outcome" => "canceled" } : outcome(attempt))
    end

    # released returns the end of an attempt that is released to its queue.
    def released(attempt)
      encode(attempt, { "outcome" => "released" })
    end

    # refused returns the end of an attempt whose own end was not accepted by the server.
    def refused(attempt, reason)
      encode(attempt, { "outcome" => "failed", "error" => { "message" => Text.utf8(reason, MOST_MESSAGE), "type" => "Meanwhile::Refused", "backtrace" => [] } })
    end

    # died returns the end of an attempt that terminated its thread.
    def died(attempt)
      encode(attempt, { "outcome" => "failed", "error" => { "message" => "the job ended its thread", "type" => "ThreadError", "backtrace" => [] } })
    end

    private

    def outcome(attempt)
      result = @fibers ? @fibers.within(attempt) { within(attempt) } : in_thread(attempt) { within(attempt) }
      completed(attempt, result)
    rescue Exception => e # whatever a job raises ends its attempt, not the worker
      failed(attempt, e)
    end

    def in_thread(attempt, &call)
      Thread.current.thread_variable_set(:meanwhile_job, attempt)
      Thread.handle_interrupt(Stopping => :immediate, &call)
    ensure
      Thread.current.thread_variable_set(:meanwhile_job, nil)
    end

    # within runs the handler inside the reloader of Rails, which reloads changed code and returns database connections to the
    # pool, and inside the timeout.
    def within(attempt)
      call = -> { bounded(attempt) { handle(attempt) } }
      defined?(::Rails.application.reloader) ? ::Rails.application.reloader.wrap(&call) : call.call
    end

    # Timeout works by thread: it would end whichever fiber is running in the thread by then.
    def bounded(attempt, &call)
      return call.call if attempt.timeout.nil? || @fibers

      Timeout.timeout(attempt.timeout, TimedOut, TimedOut.text(attempt.timeout), &call)
    end

    def handle(attempt)
      handler = @handlers[attempt.kind]
      return handler.call(attempt) if handler

      unless active_job?(attempt)
        @logger.warn("job #{attempt.id} of kind #{attempt.kind} is put off by #{UNKNOWN_DELAY} s: this program has no such class and no such handler")
        raise Snooze.new(UNKNOWN_DELAY)
      end
      ::ActiveJob::Base.execute(attempt.args.merge("provider_job_id" => attempt.id))
      nil
    end

    def active_job?(attempt)
      return false unless defined?(::ActiveJob::Base) && attempt.active_job_id

      found = attempt.args["job_class"].to_s.safe_constantize
      found.is_a?(Class) && found <= ::ActiveJob::Base
    end

    def completed(attempt, result)
      ending = { "outcome" => "completed" }
      ending["result"] = result if RESULTS.any? { |type| type === result }
      ending["then"] = attempt.follows unless attempt.follows.empty?
      ending
    end

    def failed(attempt, error)
      case error
      when Snooze then return { "outcome" => "snoozed", "delay" => Text.span(error.delay) }
      when Stopping then return { "outcome" => "released" }
      end
      return { "outcome" => "released" } if attempt.stopped
      return { "outcome" => "canceled", "error" => describe(error) } if error.is_a?(Cancel) || attempt.canceled?
      return { "outcome" => "discarded", "error" => describe(error) } if error.is_a?(Discard)

      ending = { "outcome" => "failed", "error" => describe(error) }
      ending["delay"] = Text.span(error.delay) if error.is_a?(RetryAfter)
      ending
    rescue StandardError => e # a subclass of an outcome without a delay, for example
      { "outcome" => "failed", "error" => describe(e) }
    end

    def describe(error)
      lines, bytes = [], 0
      (error.backtrace || []).each do |line|
        line = Text.utf8(line, MOST_ENTRY)
        break if (bytes += line.bytesize + 1) > MOST_BACKTRACE

        lines << line
      end
      { "message" => Text.utf8(error.message, MOST_MESSAGE), "type" => error.class.to_s, "backtrace" => lines }
    rescue StandardError => e # an error whose message method raises another
      { "message" => "the error has no message: #{e.class}", "type" => error.class.to_s, "backtrace" => [] }
    end

    # encode runs in the thread of the job, so that a job whose result is not JSON fails alone.
    def encode(attempt, ending)
      records = attempt.take_records
      more = records.empty? ? attempt.key : attempt.key.merge("records" => records)
      count = records.size + ending.fetch("then", []).size
      Ledger::Ending.new(attempt, JSON.generate(more.merge(ending), max_nesting: 100), count)
    rescue StandardError, SystemStackError => e # of JSON, or of a to_json of the application
      error = { "message" => "the result is not JSON: #{Text.utf8(e.message, 300)}", "type" => e.class.to_s, "backtrace" => [] }
      Ledger::Ending.new(attempt, JSON.generate(more.merge("outcome" => "failed", "error" => error)), records.size)
    end
  end
end
