# frozen_string_literal: true

require "meanwhile/fibers"
require "meanwhile/ledger"
require "meanwhile/runner"
require "socket"

module Meanwhile
  # Worker claims jobs and runs them in threads, or in fibers of one thread. It holds jobs by a lease, which it extends each second, and reports their
  # ends in batches.
  #
  #   claim ── free slots ──> threads ── ends ──> ledger ──> report
  #     └──────────────── the ledger counts free slots ────────┘
  class Worker
    MOST_CLAIMED = 500
    MOST_HELD = 1000         # jobs of one extension request, each of which may have its own session
    MOST_RECORDS = 900       # of one extension request; the last job may add a hundred. The rest follows in the next
    LEASE = 30               # seconds that jobs are held after the last extension
    WAIT = 20                # seconds for which a claim waits for jobs
    BEAT = 1                 # seconds between extensions, and between tries while the server is unavailable
    CLOSING = 5              # seconds for stopped jobs to end, and again for reporting their ends
    MOST_CONCURRENCY = 1000
    WATCH = 0.1              # seconds between checks for fibers whose timeout has passed

    # Recalled is raised in the thread that waits for a claim when no more jobs are to be claimed. The server then releases the jobs that it has
    # claimed for it in the meantime.
    Recalled = Class.new(Exception)
    private_constant :Recalled

    # The name of this worker in the server's list.
    attr_reader :name

    # queues are in order of preference; kinds nil means all kinds. grace is in seconds. With fibers, such as Fibers.async, each job has a fiber
    # instead of a thread; see Fibers for other values. Raises ArgumentError.
    def initialize(client: Meanwhile.client, concurrency: 10, queues: ["default"], kinds: nil, grace: 25, logger: Meanwhile.logger, fibers: nil)
      unless concurrency.is_a?(Integer) && concurrency.between?(1, MOST_CONCURRENCY)
        raise ArgumentError, "concurrency #{concurrency.inspect}: give from 1 to #{MOST_CONCURRENCY}"
      end
      raise ArgumentError, "no queue is named" if queues.empty?
      raise ArgumentError, "grace #{grace.inspect}: give 0 seconds or more" unless grace.is_a?(Numeric) && grace >= 0

      @client, @queues, @kinds, @grace, @logger = client, queues, kinds, grace, logger
      @host = Text.utf8(Socket.gethostname, 200)
      # The last part distinguishes the worker from a previous one in the same container, whose process had the same ID.
      @name = "#{@host}:#{Process.pid}:#{SecureRandom.hex(3)}"
      @ledger = Ledger.new(concurrency)
      @fibers = fibers && Fibers.new(fibers)
      @runner = Runner.new(Meanwhile.handlers, logger, @fibers)
      @todo = @fibers || Queue.new
      @orders = Queue.new # push neither waits nor locks, so signal handlers may call it
      @lock = Mutex.new
      @own_quiet = @ordered_quiet = @away = @stuck = false
    end

    # run works until stop is called or an operator stops the worker, and returns whether the end of each job was reported. Raises Refused, for
    # example Unauthorized, if the server does not accept the worker at the start. If the server does not answer, it tries again.
    def run
      @beating = thread { beat_loop }
      @reporting = thread { report_loop }
      follow_orders
      close
    ensure
      [@beating, @claiming, @reporting, *@slots].compact.each(&:kill)
    end

    # stop makes run return: nothing more is claimed, running jobs have the grace period to end, and those that are still running then are released. A
    # second call ends the grace period. Signal handlers may call stop, quiet and report.
    def stop
      @orders << :stop
    end

    # quiet makes the worker claim no more jobs. Running jobs continue.
    def quiet
      @orders << :quiet
    end

    # report logs the running jobs, with their stacks.
    def report
      @orders << :report
    end

    # stuck? returns whether a job did not end although it was stopped: its thread may keep the process from exiting.
    def stuck?
      @stuck
    end

    private

    # Threads start with Stopping and Recalled deferred; they can be raised only where the code allows it. An unexpected error in a thread ends the
    # worker, which could otherwise continue without its leases, for example.
    def thread
      Thread.handle_interrupt(Stopping => :never, Recalled => :never) do
        Thread.new do
          yield
        rescue StandardError => e
          @orders << e
        end
      end
    end

    def follow_orders
      loop do
        case order = @orders.pop
        when :stop then return
        when :quiet then quiet_by(own: true)
        when :report then log_running
        else raise order
        end
      end
    end

    # quiet_by sets who has asked for quiet; a value that is nil stays unchanged.
    def quiet_by(own: nil, ordered: nil)
      @lock.synchronize do
        before = @own_quiet || @ordered_quiet
        @own_quiet = own unless own.nil?
        @ordered_quiet = ordered unless ordered.nil?
        quiet = @own_quiet || @ordered_quiet
        changed = quiet != before
        @ledger.quiet = quiet
        @claiming&.raise(Recalled) if changed && quiet
        @logger.info(quiet ? "claiming no more jobs" : "claiming jobs again") if changed
      end
    end

    def log_running
      running = @ledger.running
      @logger.info("#{running.size} jobs run")
      running.each do |a|
        lines = a.place&.backtrace&.first(12) || ["it waits for its turn"]
        @logger.info("#{a.kind} #{a.id}, attempt #{a.attempt}:\n  #{lines.join("\n  ")}")
      end
    end

    # Claiming.

    def start
      @slots = @fibers ? [fiber_thread, timeout_thread] : Array.new(@ledger.slots) { slot }
      @claiming = thread { claim_loop }
      @logger.info("#{@name} runs up to #{@ledger.slots} jobs at once of #{@queues.join(", ")}, by #{@client.settings}")
    end

    def claim_loop
      while (room = @ledger.room)
        begin
          answered { accept(claim(room)) } || sleep(BEAT)
        rescue Recalled
          next # room waits until jobs may be claimed again
        end
      end
    end

    def claim(room)
      request = { worker: @name, queues: @queues, kinds: @kinds, limit: [room, MOST_CLAIMED].min, lease: "#{LEASE}s", wait: "#{WAIT}s" }.compact
      Thread.handle_interrupt(Recalled => :on_blocking) { @client.work(:claim, request, wanted: "jobs", timeout: WAIT + @client.settings.timeout) }
    end

    def accept(answer)
      attempts = answer.fetch("jobs").map { |job| Attempt.new(answer.fetch("session"), job) }
      @ledger.begin(attempts)
      if @ledger.closed?
        attempts.each { |a| @ledger.finish(@runner.released(a)) }
      else
        attempts.each { |a| @todo << a }
      end
    end

    # Running.

    def slot
      thread { execute(@todo.pop) while true }
    end

    def execute(attempt)
      attempt.place = @fibers ? Fiber.current : Thread.current
      ending = @runner.run(attempt)
    ensure
      # A job may end its thread, by Thread.exit for example. A new thread replaces it.
      @ledger.finish(ending || @runner.died(attempt))
      @slots << slot unless @fibers || ending || @ledger.closed?
    end

    def fiber_thread
      thread do
        @fibers.run { |attempt| execute(attempt) }
      ensure
        unless @ledger.closed? # a job has ended the thread of all jobs
          @ledger.running.each { |a| @ledger.finish(@runner.died(a)) if a.place }
          @slots << fiber_thread
        end
      end
    end

    def timeout_thread
      thread { sleep(WATCH) && @fibers.end_overdue(@ledger.running) while true }
    end

    # Extending.

    def beat_loop
      begun = false
      loop do
        answered(must: !begun) do
          beat
          start unless begun
          begun = true
        end
        sleep BEAT
      end
    rescue Refused => e
      @orders << e
    end

    # beat extends the leases, sends progress and records, and obeys commands in the answers.
    def beat
      held = @ledger.held
      (held.empty? ? [[]] : held.each_slice(MOST_HELD)).each { |part| extend_leases(part) }
    end

    def extend_leases(held)
      news = news_of(held)
      answer = @client.work(:extend, extension(held, news), wanted: "state")
      news = nil
      held.each { |a| learn(a, answer) }
      order(answer["state"])
    rescue Refused => e
      news = nil unless e.is_a?(Unauthorized) # the next extension would be refused as well, and the leases would end
      raise
    ensure
      news&.each { |a, progress, records| a.give_back(progress, records) }
    end

    def news_of(held)
      count = 0
      held.map do |a|
        records = count < MOST_RECORDS ? a.take_records : []
        count += records.size
        [a, a.take_progress, records]
      end
    end

    def extension(held, news)
      body = {
        worker: { name: @name, host: @host, pid: Process.pid, language: "ruby #{RUBY_VERSION}", concurrency: @ledger.slots },
        lease: "#{LEASE}s",
        sessions: held.group_by(&:session).map { |session, attempts| { session: session, jobs: attempts.map(&:id) } }
      }
      progress = news.filter_map { |a, done, _| done && a.key.merge(done) }
      records = news.flat_map { |a, _, lines| lines.map { |line| a.key.merge(line) } }
      body[:progress] = progress unless progress.empty?
      body[:records] = records unless records.empty?
      body
    end

    def learn(attempt, answer)
      attempt.canceled = true if (answer["canceled"] || []).include?(attempt.id)
      return if attempt.lost? || attempt.ended || !(answer["lost"] || []).include?(attempt.id)

      attempt.lost = true
      @logger.warn("#{attempt.kind} #{attempt.id}: the lease is lost: another worker has it, or it was deleted; what this attempt returns does not count")
    end

    def order(state)
      return @orders << :stop if state == "stop" && !@ledger.closed?

      quiet_by(ordered: state == "quiet")
    end

    # Reporting.

    def report_loop
      while (ends = @ledger.ends)
        answered { beat } if ends.any? { |e| e.attempt.progress? }
        report_ends(ends)
      end
    end

    # report_ends sends ends until the server has answered. If the server does not accept them, each is sent separately, and if it is not accepted
    # either, a failure with the reason is sent instead.
    def report_ends(ends, refused: false)
      tries = 0
      sleep BEAT until answered(must: true) { finish(ends, tries += 1) }
      @ledger.reported(ends.map(&:attempt))
    rescue Refused => e
      return ends.each { |one| report_ends([one], refused: refused) } if ends.size > 1

      attempt = ends[0].attempt
      @logger.error("#{attempt.kind} #{attempt.id}: #{e.message}")
      return @ledger.reported([attempt]) if refused

      report_ends([@runner.refused(attempt, e.message)], refused: true)
    end

    def finish(ends, tries)
      lost = @client.work(:finish, %({"ends":[#{ends.map(&:json).join(",")}]}), wanted: "lost").fetch("lost")
      return if tries > 1 # ends that were stored before an answer got lost are reported as lost

      ends.map(&:attempt).each do |a|
        @logger.warn("#{a.kind} #{a.id}: its end does not count: another worker has it, or it was deleted") if lost.include?(a.id)
      end
    rescue Unauthorized => e
      raise Unavailable, e.message # no end is lost when an operator changes tokens
    end

    # answered yields, and returns whether the server answered. The reason why it does not is logged once. With must, a Refused is raised; otherwise
    # it counts as no answer.
    def answered(must: false)
      yield
      changed(nil)
      true
    rescue Unavailable, Refused => e
      raise if must && e.is_a?(Refused)

      changed(e.message)
      false
    end

    def changed(away)
      @lock.synchronize do
        next if @away == (away ? true : false)

        @away = away ? true : false
        away ? @logger.warn("#{away}; trying again each second") : @logger.info("the server answers again")
      end
    end

    # Stopping.

    def close
      @ledger.close
      @claiming&.raise(Recalled)
      @claiming&.join
      @ledger.running.each { |a| a.stopping = true }
      @logger.info("stopping: #{@ledger.running.size} jobs run and have #{@grace} s to end")
      wait_grace
      stop_running
      reported = @ledger.wait(CLOSING) { |_, held| held.zero? }
      @logger.error("#{@ledger.held.size} ends of jobs could not be reported: these jobs run again in #{LEASE} s") unless reported
      leave if @slots
      reported
    end

    # wait_grace returns when no job is running, or when the grace period is over or ended by a second stop.
    def wait_grace
      deadline = now + @grace
      until @ledger.wait(0.1) { |running, _| running.zero? }
        return if now > deadline
        next if @orders.empty?

        order = @orders.pop
        return if order == :stop

        log_running if order == :report
      end
    end

    def stop_running
      running = @ledger.running
      return if running.empty?

      running.each do |a|
        a.stopped = true
        @fibers ? @fibers.interrupt(a, Stopping.new("the worker stops")) : a.place&.raise(Stopping, "the worker stops")
      end
      return if @ledger.wait(CLOSING) { |still, _| still.zero? }

      @stuck = true
      @ledger.running.each do |a|
        @logger.error("#{a.kind} #{a.id} does not end and is released while it runs, at #{a.place&.backtrace&.first || "an unknown line"}")
        @ledger.finish(@runner.released(a))
      end
    end

    def leave
      @client.work(:leave, { worker: @name })
    rescue Error => e
      @logger.warn(e.message)
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
