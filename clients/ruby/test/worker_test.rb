# frozen_string_literal: true

require_relative "helper"
require "logger"
require "meanwhile/worker"
require "stringio"

class WorkerTest < Minitest::Test
  include Helper

  def test_active_job
    job = NoteJob.perform_later("hello", name: "Ada")
    worker = work("-c", "2")
    assert_equal "completed", ended(job.provider_job_id)["state"]
    assert_equal ["hello Ada #{job.provider_job_id}"], lines
    worker.signal("TERM")
    assert_equal 0, worker.status, worker.log
    assert_includes worker.log, "stopping: 0 jobs run"
  end

  def test_results_progress_and_records
    id = Meanwhile.enqueue("words.count", { lines: ["a b", "c"] }).id
    work
    found = ended(id)
    assert_equal ["completed", { "words" => 3 }], found.values_at("state", "result")
    assert_equal [2, 2], found["progress"].values_at("done", "total")
    assert_equal ["line 1: a b", "line 2: c"], found["records"].map { |r| r["message"] }
  end

  def test_how_attempts_end
    ids = %w[error cancel discard snooze after thread exit stack].to_h { |how| [how, FailJob.perform_later(how).provider_job_id] }
    work("-c", "1")
    states = {} # the first state of each after its first attempt: retrying jobs run again
    eventually("all have ended") do
      ids.except(*states.keys).each { |how, id| (s = state(id)) && !%w[queued running].include?(s) && states[how] = s }
      states.size == ids.size
    end
    found = ids.transform_values { |id| find(id) }
    assert_equal({ "error" => "retrying", "cancel" => "canceled", "discard" => "discarded", "snooze" => "scheduled", "after" => "retrying",
                   "thread" => "retrying", "exit" => "retrying", "stack" => "retrying" }, states)
    failure = found["error"]["failures"][0]
    assert_equal "ArgumentError: no such user", failure["error"]
    assert_match(/app\.rb:\d+:in .*perform/, failure["stack"])
    assert_equal 0, used(found["snooze"])
    assert_operator Time.parse(found["after"]["run_at"]) - Time.now, :>, 3000
    assert_includes found["thread"]["failures"][0]["error"], "the job ended its thread"
    assert_includes found["stack"]["failures"][0]["error"], "SystemStackError"
    assert_operator found["stack"]["failures"][0]["stack"].bytesize, :<=, 16 << 10
  end

  # Active Job from 7.1 rescues every exception, and handles one that it has no handler for by its cause.
  def test_an_outcome_that_is_raised_in_a_rescue_has_no_cause
    app = File.join(@folder, "newer.rb")
    File.write(app, <<~RUBY)
      require #{APP.inspect}
      module ActiveJob::Execution
        def perform_now
          self.executions = (executions || 0) + 1
          deserialize_arguments_if_needed
          run_callbacks(:perform) { perform(*arguments) }
        rescue Exception => exception
          handled = rescue_with_handler(exception)
          return handled if handled

          raise
        end
      end
    RUBY
    id = RescueJob.perform_later.provider_job_id
    work(app: app)
    found = ended(id)
    assert_equal "discarded", found["state"]
    assert_equal "Meanwhile::Discard: it is broken for good", found["failures"][0]["error"]
  end

  # A mistake in how a job ends its attempt fails this attempt, and the worker runs the other jobs.
  def test_a_mistake_in_an_outcome_fails_that_job_alone
    wants = {
      "never" => /TypeError: .*nil/, "endless" => /ArgumentError: a delay of Infinity/, "own" => /NoMethodError/
    }.to_h { |how, want| [FailJob.perform_later(how).provider_job_id, want] }
    wants[Meanwhile.enqueue("not.json").id] = /NoMethodError: the result is not JSON: it has no JSON/
    header = FailJob.perform_later("header").provider_job_id
    worker = work("-c", "1")
    wants.each do |id, want|
      failure = eventually("it has failed") { find(id)["failures"]&.first }
      assert_match want, failure["error"]
    end
    eventually("it has failed") { state(header) == "retrying" }
    assert_operator Time.parse(find(header)["run_at"]) - Time.now, :>, 3000
    assert_equal "completed", ended(NoteJob.perform_later("hello").provider_job_id)["state"]
    assert worker.running?
  end

  # The job holds its unique key while it runs, and has one attempt: all further attempts are by retry_on.
  def test_retry_on_and_discard_on
    id = RetryJob.perform_later("kept").provider_job_id
    gone = RetryJob.perform_later("discarded").provider_job_id
    work
    assert_equal %w[completed completed], [ended(id)["state"], ended(gone)["state"]]
    eventually("three tries") { lines.count { |l| l.end_with?(" of kept") } == 3 }
    assert_equal ["try 1 of kept", "try 2 of kept", "try 3 of kept"], lines.grep(/kept/).sort
    list = eventually("three jobs") do
      jobs = @server.client("admin").instance_variable_get(:@http).call(:get, "/jobs?kind=RetryJob&state=completed", what: "list")["jobs"]
      jobs if jobs.size == 4
    end
    assert_equal [["key-kept", { "tenant" => "7" }]], list.reject { |j| j["id"] == gone }.map { |j| find(j["id"]).values_at("limit_key", "meta") }.uniq
  end

  # The attempt that ends would keep its own retry out.
  def test_retry_on_of_a_job_whose_key_is_held_for_a_time
    jobs = [HourJob.perform_later("hour"), HourAfterJob.perform_later("after")]
    work
    jobs.each { |job| ended(job.provider_job_id) }
    eventually("three tries of each") { lines.size == 6 }
    %w[hour after].each { |name| assert_equal (1..3).map { |i| "try #{i} of #{name}" }, lines.grep(/#{name}/) }
    assert_equal "completed", ended(HourJob.perform_later("hour").provider_job_id)["state"] # the key is held by the last of them
    assert_equal 6, lines.size
  end

  # The lambda for the key cannot be called with these arguments.
  def test_retry_on_of_arguments_that_cannot_be_deserialized
    ThingJob.perform_later(Thing.new("1"))
    ThingJob.perform_later(Thing.new("2"))
    ThingJob.queue_adapter.enqueue_all([ThingJob.new(Thing.new("3"))])
    work
    list = ->(state) { @server.client("admin").instance_variable_get(:@http).call(:get, "/jobs?kind=ThingJob&state=#{state}", what: "list")["jobs"] }
    eventually("all have been tried") { list.call("completed").size == 3 }
    retries = list.call("queued").map { |job| find(job["id"]) }
    assert_equal 3, retries.size
    keys = retries.to_h { |job| [job["args"]["arguments"][0]["_aj_globalid"][/\d\z/], job["unique_key"]] }
    assert_equal ["ThingJob thing 1", nil], keys.values_at("1", "2")
  end

  def test_a_timeout
    found = ended(SlowJob.perform_later.provider_job_id.tap { work })
    assert_equal "discarded", found["state"]
    assert_equal "Meanwhile::TimedOut: the attempt takes longer than its timeout of 0.2 s", found["failures"][0]["error"]
  end

  def test_a_job_that_is_canceled
    id = PoliteJob.perform_later("a").provider_job_id
    work
    eventually("it runs") { lines.include?("begun a") }
    @server.client("admin").instance_variable_get(:@http).call(:post, "/jobs/#{id}/cancel", "{}", what: "cancel")
    assert_equal "canceled", ended(id)["state"]
  end

  def test_a_job_that_is_canceled_is_not_retried
    id = LateRetryJob.perform_later("a").provider_job_id
    work
    eventually("it runs") { lines.include?("begun a") }
    http = @server.client("admin").instance_variable_get(:@http)
    http.call(:post, "/jobs/#{id}/cancel", "{}", what: "cancel")
    assert_equal "canceled", ended(id)["state"]
    assert_equal [id], http.call(:get, "/jobs?kind=LateRetryJob", what: "list")["jobs"].map { |job| job["id"] }
  end

  def test_stopping_lets_jobs_end
    id = GateJob.perform_later("a").provider_job_id
    worker = work("--grace", "120")
    eventually("it runs") { lines.include?("begun a") }
    worker.signal("TERM")
    eventually("it stops") { worker.log.include?("stopping: 1 jobs run and have 120") }
    FileUtils.touch(File.join(@folder, "a"))
    assert_equal 0, worker.status
    assert_equal "completed", find(id)["state"]
  end

  def test_when_the_grace_is_over_jobs_are_released
    ids = %w[a b].map { |name| BrieflyStubbornJob.perform_later(name).provider_job_id }
    worker = work("--grace", "0.1")
    eventually("they run") { lines.size == 2 }
    worker.signal("TERM")
    assert_equal 0, worker.status
    ids.each { |id| assert_equal ["queued", 0], [state(id), used(find(id))] }
    assert_equal ["ensured a", "ensured b"], lines.grep(/ensured/).sort
    assert_empty lines.grep(/rescued/)
  end

  def test_a_second_signal_ends_the_grace
    id = BrieflyStubbornJob.perform_later("a").provider_job_id
    worker = work("--grace", "3600")
    eventually("it runs") { lines.include?("begun a") }
    worker.signal("INT")
    eventually("it stops") { worker.log.include?("stopping: 1 jobs") }
    worker.signal("INT")
    assert_equal 0, worker.status
    assert_equal "queued", find(id)["state"]
  end

  def test_a_job_that_cannot_be_stopped_does_not_keep_the_process
    id = StubbornJob.perform_later.provider_job_id
    worker = work("--grace", "0")
    eventually("it runs") { lines.include?("begun") }
    worker.signal("TERM")
    assert_equal 0, worker.status
    assert_match(/StubbornJob #{id} does not end and is released while it runs, at .+:\d+/, worker.log)
    assert_equal "queued", find(id)["state"]
  end

  def test_quiet_by_signal
    first = GateJob.perform_later("a").provider_job_id
    worker = work
    eventually("it runs") { lines.include?("begun a") }
    worker.signal("TSTP")
    eventually("it is quiet") { worker.log.include?("claiming no more jobs") }
    second = GateJob.perform_later("b").provider_job_id
    other = work("-q", "default")
    eventually("another runs it") { lines.include?("begun b") }
    other.signal("USR1")
    # The server may have claimed the job for the first worker, which had just canceled its claim.
    eventually("what runs is logged") { other.log.match?(/GateJob #{second}, attempt \d+:\n.*app\.rb:\d+:in .*gate/m) }
    worker.signal("USR1")
    eventually("what runs is logged") { worker.log.include?("GateJob #{first}") }
    refute_includes worker.log, second
  end

  # An answer of the server without the quiet command, processed after a signal, does not revert the quiet of the signal.
  def test_quiet_stays_by_signal
    log = StringIO.new
    worker = Meanwhile::Worker.new(client: @server.client("worker"), logger: Logger.new(log))
    lock = worker.instance_variable_get(:@lock)
    threads = []
    lock.synchronize do
      [[:quiet_by, { own: true }], [:order, "run"]].each do |name, given|
        threads << Thread.new { given.is_a?(Hash) ? worker.send(name, **given) : worker.send(name, given) }
        eventually("it waits for its turn") { threads.last.stop? }
      end
    end
    threads.each(&:join)
    assert_includes log.string, "claiming no more jobs"
    refute_includes log.string, "claiming jobs again"
  end

  def test_orders_of_an_operator
    worker = work
    name = eventually("it runs") { worker.log[/(\S+) runs up to/, 1] }
    order = ->(what) { @server.client("admin").instance_variable_get(:@http).call(:post, "/workers/#{ERB::Util.url_encode(name)}/#{what}", "{}", what: what) }
    order.call("quiet")
    eventually("it is quiet") { worker.log.include?("claiming no more jobs") }
    id = NoteJob.perform_later("x").provider_job_id
    order.call("resume")
    assert_equal "completed", ended(id)["state"]
    order.call("stop")
    assert_equal 0, worker.status
  end

  # The leases of a killed worker end after 30 s. By then a job that another worker holds has run for longer than that, and is not started again.
  def test_a_worker_that_is_killed_loses_nothing
    held = GateJob.set(queue: "held").perform_later("held").provider_job_id
    2.times { work("-q", "held") }
    eventually("it runs") { lines.include?("begun held") }
    gated = GateJob.perform_later("gated").provider_job_id
    jobs = (1..400).map { |i| CountJob.new(i) }
    CountJob.queue_adapter.enqueue_all(jobs)
    first = work("-c", "20")
    eventually("some have run") { lines.size > 20 && lines.include?("begun gated") }
    first.signal("KILL")
    assert_equal "killed", first.status
    assert_operator lines.grep(/count/).uniq.size, :<, 400
    work("-c", "20")
    jobs.each { |job| assert_equal "completed", ended(job.provider_job_id)["state"] }
    assert_equal (1..400).map { |i| "count #{i}" }.sort, lines.grep(/count/).uniq.sort
    FileUtils.touch(File.join(@folder, "gated"))
    assert_equal "completed", ended(gated)["state"]
    assert_equal [2, 1], [lines.count("begun gated"), lines.count("done gated")]
    FileUtils.touch(File.join(@folder, "held"))
    assert_equal ["completed", 1], ended(held).values_at("state", "attempt")
    assert_equal 1, lines.count("begun held")
  end

  def test_a_server_that_is_restarted
    jobs = (1..600).map { |i| CountJob.new(i) }
    CountJob.queue_adapter.enqueue_all(jobs)
    gated = GateJob.perform_later("a").provider_job_id
    worker = work("-c", "4")
    eventually("some have run") { lines.size > 20 }
    @server.stop("KILL")
    eventually("it is away") { worker.log.include?("trying again each second") }
    @server.start
    eventually("it is back") { worker.log.include?("the server answers again") }
    FileUtils.touch(File.join(@folder, "a"))
    [*jobs.map(&:provider_job_id), gated].each { |id| assert_equal "completed", ended(id)["state"] }
    assert worker.running?
    assert_equal 600, lines.grep(/count/).uniq.size
  end

  def test_a_wrong_token_ends_it_with_one_sentence
    worker = work(token: "wrong-s3cret")
    assert_equal 2, worker.status
    assert_match(/\Ameanwhile: extend: http:\S+: .+ \(401\)\n\z/, worker.log)
    refute_includes worker.log, "s3cret"
  end

  def test_wrong_usage_ends_it_with_one_sentence
    {
      ["-c", "0"] => "meanwhile: concurrency 0: give from 1 to 1000\n",
      ["-c", "many"] => "meanwhile: invalid argument: -c many\n",
      ["-r", "absent.rb"] => "meanwhile: there is no absent.rb here: give another file to -r\n",
      ["more"] => "meanwhile: invalid argument: more\n"
    }.each do |arguments, want|
      worker = work(*arguments)
      assert_equal [2, want], [worker.status, worker.log]
    end
  end

  def test_a_mistake_of_the_application_is_shown_with_its_place
    app = File.join(@folder, "wrong.rb")
    File.write(app, "def x(a) = a\nx()\n")
    worker = work(app: app)
    assert_equal 1, worker.status
    assert_match(/wrong\.rb:\d.*wrong number of arguments.*ArgumentError/m, worker.log)
  end

  def test_an_application_without_anything_to_run
    FileUtils.mkdir_p(File.join(@folder, "config"))
    File.write(File.join(@folder, "config", "environment.rb"), "")
    worker = work(app: nil)
    assert_equal [2, "meanwhile: config/environment.rb has neither Active Job nor a Meanwhile.handle: there is nothing to run\n"], [worker.status, worker.log]
  end

  def test_a_kind_that_the_program_does_not_know_is_put_off
    id = Meanwhile.enqueue("http.request", { url: "http://127.0.0.1:1" }).id
    worker = work
    eventually("it is put off") { state(id) == "scheduled" }
    assert_equal 0, used(find(id))
    assert_includes worker.log, "job #{id} of kind http.request is put off by 30 s"
  end

  # A program without Active Job claims only the kinds that it has handlers for.
  def test_kinds_of_a_program_without_active_job
    app = File.join(@folder, "plain.rb")
    File.write(app, <<~RUBY)
      require "meanwhile"
      Meanwhile.handle("double") { |job| job.args * 2 }
    RUBY
    other = NoteJob.perform_later("x").provider_job_id
    id = Meanwhile.enqueue("double", 21).id
    work(app: app)
    assert_equal 42, ended(id)["result"]
    assert_equal ["queued", 0], find(other).values_at("state", "attempt")
  end

  # Rails is not installed here: its logger and reloader are those of Active Support, under the names of Rails.
  def test_rails
    app = File.join(@folder, "config", "environment.rb")
    FileUtils.mkdir_p(File.dirname(app))
    File.write(app, <<~RUBY)
      require "active_support"
      require "active_support/reloader"
      module Rails
        Application = Struct.new(:reloader)
        class << self
          attr_accessor :logger, :application
        end
      end
      require "active_job"
      require "meanwhile"
      reloader = Class.new(ActiveSupport::Reloader)
      reloader.executor = Class.new(ActiveSupport::Executor)
      reloader.executor.to_run { note("executor begins") }
      reloader.executor.to_complete { note("executor ends") }
      Rails.application = Rails::Application.new(reloader)
      Rails.logger = ActiveSupport::TaggedLogging.new(ActiveSupport::Logger.new(File::NULL))
      require #{APP.inspect}
      ActiveJob::Base.queue_adapter = :meanwhile
      class LogJob < ActiveJob::Base
        def perform(text)
          Rails.logger.tagged("tag") { Rails.logger.info(text) }
          Rails.logger.debug { "no such line" } if Rails.logger.level > 0
          note("performed")
        end
      end
    RUBY
    body = { "job_class" => "LogJob", "job_id" => "x", "arguments" => ["hello"], "queue_name" => "default" }
    id = Meanwhile.enqueue("LogJob", body).id
    work(app: "config/environment.rb")
    found = ended(id)
    assert_equal "completed", found["state"], found.inspect
    assert_includes found["records"].map { |r| r["message"] }.join("\n"), "hello"
    assert_equal ["executor begins", "performed", "executor ends"], lines
  end

  def test_a_flood_of_records_is_bounded
    app = File.join(@folder, "flood.rb")
    File.write(app, <<~RUBY)
      require "meanwhile"
      Meanwhile.logger = Meanwhile::JobLogger.new(nil)
      Meanwhile.handle("flood") { |job| 400.times { |i| Meanwhile.logger.warn("line \#{i} " + "\\xff" * 3000) } }
    RUBY
    ids = Array.new(30) { Meanwhile.enqueue("flood").id }
    worker = work("-c", "30", app: app)
    ids.each { |id| assert_equal "completed", ended(id)["state"] }
    assert_includes find(ids[0])["records"].last["message"], "line 399"
    refute_includes worker.log, "(422)"
  end
end
