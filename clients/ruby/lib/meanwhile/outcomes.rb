# frozen_string_literal: true

module Meanwhile
  # Outcome is the superclass of what a job raises to end its attempt in another way than by success or failure. It is not a
  # StandardError, so that neither `rescue => error` nor `retry_on StandardError` treats it as a failure; transactions are rolled
  # back.
  class Outcome < Exception
    # An outcome has no cause: from Rails 7.1 on, `retry_on` and `discard_on` would handle it by that of an error during whose rescue it is raised.
    def cause = nil

    private

    def seconds(delay)
      Float(delay).tap { |found| raise ArgumentError, "a delay of #{found} s: give a finite number of seconds" unless found.finite? }
    end
  end

  # Cancel ends the job as canceled: another attempt would not help, and this is not a failure.
  class Cancel < Outcome; end

  # Discard ends the job as discarded: it has failed, and another attempt would not help.
  class Discard < Outcome; end

  # Snooze makes the job run again after some seconds. This is not a failure, and does not use up an attempt. The delay is a number, or the
  # text of one; new raises ArgumentError or TypeError for other values, and the attempt then fails with that.
  class Snooze < Outcome
    attr_reader :delay

    def initialize(delay)
      super("again in #{delay} s")
      @delay = seconds(delay)
    end
  end

  # RetryAfter fails the attempt, and makes the next one start after some seconds instead of the backoff. The delay is that of Snooze.
  class RetryAfter < Outcome
    attr_reader :delay

    def initialize(delay, message = "again in #{delay} s")
      super(message)
      @delay = seconds(delay)
    end
  end

  # Stopping is raised in the thread of a job that is still running when the grace period of its worker is over. The job is
  # released to its queue, unless it completes nevertheless.
  class Stopping < Outcome; end

  # TimedOut is raised in the thread of a job whose attempt takes longer than the job's timeout. It counts as a failure.
  class TimedOut < StandardError
    def self.text(timeout)
      "the attempt takes longer than its timeout of #{timeout} s"
    end
  end
end
