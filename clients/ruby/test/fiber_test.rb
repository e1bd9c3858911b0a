# frozen_string_literal: true

require_relative "transfer_scheduler"
require_relative "worker_test"
require "meanwhile/worker"

Minitest::Runnable.runnables.delete(WorkerTest) # it runs separately

# FiberTest runs the tests of a worker with fibers, except those in which no job runs, or whose outcome the server decides alone.
class FiberTest < WorkerTest
  %w[a_wrong_token_ends_it_with_one_sentence wrong_usage_ends_it_with_one_sentence
     a_mistake_of_the_application_is_shown_with_its_place an_application_without_anything_to_run quiet_stays_by_signal a_worker_that_is_killed_loses_nothing
     a_kind_that_the_program_does_not_know_is_put_off].each { |name| undef_method("test_#{name}") }

  def work(*arguments, **options)
    super("--fibers", *arguments, **options)
  end

  def test_each_job_is_a_fiber
    ids = Array.new(100) { |i| PlaceJob.perform_later("gate", i).provider_job_id }
    work("-c", "100")
    eventually("all run at once") { lines.size == 100 }
    FileUtils.touch(File.join(@folder, "gate"))
    ids.each { |id| assert_equal "completed", ended(id)["state"] }
    threads, fibers = lines.first(100).map(&:split).transpose
    assert_equal [1, 100], [threads.uniq.size, fibers.uniq.size]
    assert_equal ids.sort, lines.drop(100).sort # Meanwhile.job belongs to the fiber
  end

  # A job that computes cannot be interrupted.
  def test_a_job_that_cannot_be_stopped_does_not_keep_the_process
    id = BusyJob.perform_later.provider_job_id
    worker = work("--grace", "0")
    eventually("it runs") { lines.include?("begun") }
    worker.signal("TERM")
    assert_equal 0, worker.status
    assert_match(/BusyJob #{id} does not end and is released while it runs/, worker.log)
    assert_equal "queued", find(id)["state"]
  end

  # The job ends the thread of all jobs: those that ran concurrently fail, too, and a new thread runs the next ones.
  def test_a_job_that_ends_the_thread
    beside = GateJob.perform_later("a").provider_job_id
    work("-c", "5")
    eventually("it runs") { lines.include?("begun a") }
    id = FailJob.perform_later("thread").provider_job_id
    eventually("both have failed") { [id, beside].map { |job| state(job) } == %w[retrying retrying] }
    assert_equal "completed", ended(NoteJob.perform_later("hello").provider_job_id)["state"]
  end

  def test_without_the_gem
    worker = work(env: { "RUBYOPT" => "-r#{File.expand_path("without_async", __dir__)}" })
    assert_equal 2, worker.status
    assert_equal "meanwhile: fibers need the gem async: add it to the Gemfile\n", worker.log
  end

  # Schedulers other than that of async work as well.
  def test_a_scheduler_of_ones_own
    Meanwhile.handle("double") { |job| sleep(0.01) && job.args * 2 }
    Meanwhile.handle("sleep") { sleep }
    Meanwhile.handle("hold") { @held.pop }
    @held = Queue.new
    [PlainScheduler, TransferScheduler].each { |type| run_with(type) }
  end

  private

  # run_with runs jobs in a worker of this process, and more after a timeout has interrupted one. The scheduler runs one job all the time.
  def run_with(type)
    scheduler = lambda do |work|
      Fiber.set_scheduler(type.new)
      Fiber.schedule(&work)
      Fiber.scheduler.run
    end
    worker = Meanwhile::Worker.new(concurrency: 20, kinds: %w[double sleep hold], fibers: scheduler, logger: Meanwhile::JobLogger.new(nil))
    thread = Thread.new { worker.run }
    held = Meanwhile.enqueue("hold").id
    assert_equal "discarded", ended(Meanwhile.enqueue("sleep", timeout: 0.2, max_attempts: 1).id)["state"], type
    ids = Array.new(20) { |i| Meanwhile.enqueue("double", i).id }
    assert_equal (0...20).map { |i| i * 2 }, ids.map { |id| ended(id)["result"] }, type
    @held << "released"
    assert_equal "released", ended(held)["result"]
    worker.stop
    assert thread.value
  end
end
