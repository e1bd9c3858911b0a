# frozen_string_literal: true

module Meanwhile
  # Attempt is one execution of a job, as the handler sees it. `Meanwhile.job` returns the attempt of the calling thread or fiber.
  class Attempt
    MOST_RECORDS = 100         # newest records that are kept until they are sent
    MOST_RECORD = 1 << 10      # bytes
    MOST_FOLLOW = 1000
    UNITS = (-2**63...2**63).freeze
    private_constant :UNITS

    # Fields of the job from the server. args is parsed JSON; created and run_at are RFC 3339 texts.
    attr_reader :id, :kind, :queue, :args, :priority, :attempt, :max_attempts, :created, :run_at, :timeout, :meta, :limit_key, :unique_key,
                :session

    def initialize(session, job)
      @session = session
      @id, @kind, @queue, @args, @priority, @attempt, @max_attempts, @created, @run_at, @limit_key, @unique_key =
        job.values_at("id", "kind", "queue", "args", "priority", "attempt", "max_attempts", "created", "run_at", "limit_key", "unique_key")
      @meta = (job["meta"] || {}).reject { |key, _| key.start_with?("idempotency.") } # set by the server for its own use
      @timeout = job["timeout"] && Text.seconds(job["timeout"])
      @canceled = @lost = @stopping = false
      @lock = Mutex.new
      @records, @dropped, @follow, @progress = [], 0, [], nil
    end

    # progress reports that done of total units of the job are done. It is sent within about a second. Raises RangeError for numbers of more than 64 bits.
    def progress(done, total)
      report = { "done" => Integer(done), "total" => Integer(total) }
      report.each { |name, number| raise RangeError, "progress: #{name} #{number} has more than 64 bits" unless UNITS.cover?(number) }
      @lock.synchronize { @progress = report }
    end

    # canceled? returns whether the job was canceled while it runs. This is known within about a second.
    def canceled?
      @canceled
    end

    # lost? returns whether the lease was lost: another worker has the job by now, or it was deleted. The outcome of this attempt does not count.
    def lost?
      @lost
    end

    # stopping? returns whether the worker is stopping. A long job that can stop early may then `raise Meanwhile::Snooze.new(0)`, to continue on
    # another worker.
    def stopping?
      @stopping
    end

    # check! raises Cancel if the job was canceled or its lease was lost, so that a long job stops at points of its own choice.
    def check!
      raise Cancel, @lost ? "another worker has the job" : "canceled from outside" if @canceled || @lost
    end

    # follow enqueues a job when this one completes, in the same transaction, and not at all if the attempt does not complete. The body is that of
    # Client.body. Raises ArgumentError for more than 1,000 jobs.
    def follow(body)
      raise ArgumentError, "more than #{MOST_FOLLOW} jobs follow one: let one of them enqueue the others" if @follow.size == MOST_FOLLOW

      @follow << body
    end

    # record keeps a line for the log of this job. If there are more than a hundred unsent lines, the oldest are dropped.
    def record(level, message)
      line = { "time" => Text.moment(Time.now), "level" => level, "message" => Text.utf8(message, MOST_RECORD).strip }
      @lock.synchronize do
        @records << line
        @dropped += 1 if @records.size > MOST_RECORDS && @records.shift
      end
    end

    # The ID that Active Job gave the job, or nil for other jobs.
    def active_job_id
      args["job_id"] if args.is_a?(Hash) && args.key?("job_class")
    end

    def inspect
      "#<#{self.class} #{kind} #{id} attempt #{attempt}>"
    end

    # The following methods are for the worker.

    attr_writer :canceled, :lost, :stopping

    # stopped is whether Stopping was raised where it runs, place is the thread or the fiber that runs it, ended is whether its end is known.
    attr_accessor :stopped, :place, :ended

    # fiber is the fiber that runs the handler, deadline the end of its timeout: see Fibers. Without fibers both are nil.
    attr_accessor :fiber, :deadline

    def key
      { "session" => session, "id" => id, "attempt" => attempt }
    end

    def follows
      @follow
    end

    # take_progress and take_records return what was reported and logged since the previous call; progress is nil if nothing was reported.
    def take_progress
      @lock.synchronize do
        taken, @progress = @progress, nil
        taken
      end
    end

    def take_records
      @lock.synchronize do
        taken, dropped = @records, @dropped
        @records, @dropped = [], 0
        text = "#{dropped} lines before this were dropped: #{MOST_RECORDS} are kept until they are sent"
        dropped.positive? ? [{ "time" => taken[0]["time"], "level" => "warn", "message" => text }, *taken] : taken
      end
    end

    # give_back restores what could not be sent.
    def give_back(progress, records)
      @lock.synchronize do
        @progress ||= progress
        all = records + @records
        @records = all.last(MOST_RECORDS)
        @dropped += all.size - @records.size
      end
    end

    def progress?
      @lock.synchronize { !@progress.nil? }
    end
  end
end
