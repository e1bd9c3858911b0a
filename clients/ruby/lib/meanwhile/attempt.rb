# frozen_string_literal: true

module Meanwhile
  # Attempt is one execution of a job, as the handler sees it. `Meanwhile.job` is that of the calling thread or fiber.
  class Attempt
    MOST_RECORDS = 100         # that are kept until they are sent, the newest
    MOST_RECORD = 1 << 10      # bytes
    MOST_FOLLOW = 1000

    # What the server said of the job; args are the JSON as Ruby has it, created and run_at are texts of RFC 3339.
    attr_reader :id, :kind, :queue, :args, :priority, :attempt, :max_attempts, :created, :run_at, :timeout, :meta, :limit_key, :session

    def initialize(session, job)
      @session = session
      @id, @kind, @queue, @args, @priority, @attempt, @max_attempts, @created, @run_at, @limit_key =
        job.values_at("id", "kind", "queue", "args", "priority", "attempt", "max_attempts", "created", "run_at", "limit_key")
      @meta = (job["meta"] || {}).reject { |key, _| key.start_with?("idempotency.") } # which the server notes for itself
      @timeout = job["timeout"] && Text.seconds(job["timeout"])
      @canceled = @lost = @stopping = false
      @lock = Mutex.new
      @records, @dropped, @follow, @progress = [], 0, [], nil
    end

    # progress reports that so much of the job is done. It is sent within about a second.
    def progress(done, total)
      @lock.synchronize { @progress = { "done" => Integer(done), "total" => Integer(total) } }
    end

    # canceled? is whether somebody has canceled the job while it runs. Known within about a second.
    def canceled?
      @canceled
    end

    # lost? is whether another worker has the job by now, or it was deleted: nothing that this attempt returns counts.
    def lost?
      @lost
    end

    # stopping? is whether the worker stops. A long job that can end early may then `raise Meanwhile::Snooze.new(0)`, to go on elsewhere.
    def stopping?
      @stopping
    end

    # check! raises Cancel when the job is canceled or lost, so that a long job ends at places of its own choice.
    def check!
      raise Cancel, @lost ? "another worker has the job" : "canceled from outside" if @canceled || @lost
    end

    # follow enqueues a job with the completion of this one, in one transaction, and not at all when the attempt does not complete. The body is
    # that of Client.body. Raises ArgumentError beyond 1,000.
    def follow(body)
      raise ArgumentError, "more than #{MOST_FOLLOW} jobs follow one: let one of them enqueue the others" if @follow.size == MOST_FOLLOW

      @follow << body
    end

    # record keeps a line of the log of this job. Beyond a hundred that are not sent yet the oldest are dropped.
    def record(level, message)
      line = { "time" => Text.moment(Time.now), "level" => level, "message" => Text.utf8(message, MOST_RECORD).strip }
      @lock.synchronize do
        @records << line
        @dropped += 1 if @records.size > MOST_RECORDS && @records.shift
      end
    end

    # The ID that Active Job gave the job, or nil when it is none of Active Job's.
    def active_job_id
      args["job_id"] if args.is_a?(Hash) && args.key?("job_class")
    end

    def inspect
      "#<#{self.class} #{kind} #{id} attempt #{attempt}>"
    end

    # What follows is for the worker.

    attr_writer :canceled, :lost, :stopping

    # stopped is whether Stopping was raised where it runs, place the thread or the fiber that runs it, ended whether its end is known.
    attr_accessor :stopped, :place, :ended

    # fiber is the one that runs the handler, deadline when its timeout is over: see Fibers. Without these both are nil.
    attr_accessor :fiber, :deadline

    def key
      { "session" => session, "id" => id, "attempt" => attempt }
    end

    def follows
      @follow
    end

    # take_progress and take_records return what was reported and logged since they were called before; no progress is nil.
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

    # give_back takes what could not be sent.
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
