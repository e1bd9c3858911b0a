# frozen_string_literal: true

module Meanwhile
  # Ledger keeps track of the attempts that a worker holds: claimed, running, or ended and not reported yet. It may be used by several threads.
  class Ledger
    MOST_UNREPORTED = 500 # with this many unreported ends, the worker claims no more jobs
    MOST_ENDS = 500       # ends that are reported in one request
    MOST_BYTES = 4 << 20  # of one request, unless one end alone has more
    MOST_MORE = 1000      # records and following jobs of one request, unless one end alone has more

    # Ending is the end of an attempt as JSON, with its number of records and following jobs.
    Ending = Struct.new(:attempt, :json, :more)

    attr_reader :slots

    def initialize(slots)
      @slots = slots
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @held = {}    # by ID, until the server knows the end
      @running = 0
      @ends = []    # in order
      @closed = @quiet = false
    end

    # room waits for free slots and returns their number, or nil when no more jobs are to be claimed.
    def room
      @lock.synchronize do
        @changed.wait(@lock) until @closed || !@quiet && @running < @slots && @ends.size < MOST_UNREPORTED
        @closed ? nil : @slots - @running
      end
    end

    # begin registers claimed attempts.
    def begin(attempts)
      @lock.synchronize do
        attempts.each { |a| @held[a.id] = a }
        @running += attempts.size
      end
    end

    # finish registers the end of an attempt. If it has already ended, nothing changes.
    def finish(ending)
      @lock.synchronize do
        next if ending.attempt.ended

        ending.attempt.ended = true
        @running -= 1
        @ends << ending
        @changed.broadcast
      end
    end

    # ends waits for ended attempts and returns as many ends as may be reported in one request, or nil when there will be none. The attempts are held
    # until they are reported.
    def ends
      @lock.synchronize do
        @changed.wait(@lock) until !@ends.empty? || @closed && @running.zero?
        bytes = more = 0
        part = @ends.take(MOST_ENDS).take_while do |e|
          first = bytes.zero?
          bytes += e.json.bytesize
          more += e.more
          first || bytes <= MOST_BYTES && more <= MOST_MORE
        end
        @ends.shift(part.size)
        part.empty? ? nil : part
      end
    end

    # reported removes attempts whose end the server knows.
    def reported(attempts)
      @lock.synchronize do
        attempts.each { |a| @held.delete(a.id) if @held[a.id].equal?(a) }
        @changed.broadcast
      end
    end

    # held returns all attempts, running only those that have not ended.
    def held
      @lock.synchronize { @held.values }
    end

    def running
      @lock.synchronize { @held.values.reject(&:ended) }
    end

    def closed?
      @lock.synchronize { @closed }
    end

    # close stops claiming for good, quiet= until it is set to false.
    def close
      @lock.synchronize do
        @closed = true
        @changed.broadcast
      end
    end

    def quiet=(quiet)
      @lock.synchronize do
        @quiet = quiet
        @changed.broadcast
      end
    end

    # wait yields the number of running attempts and of all attempts until the block returns true or the time is over, and returns whether the block
    # did.
    def wait(seconds)
      deadline = now + seconds
      @lock.synchronize do
        while (left = deadline - now).positive?
          return true if yield(@running, @held.size)

          @changed.wait(@lock, left)
        end
        yield(@running, @held.size)
      end
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
