# frozen_string_literal: true

require_relative "helper"

class EnqueueTest < Minitest::Test
  include Helper

  def test_the_server_has_what_active_job_gave
    job = NoteJob.set(queue: "mail", priority: 2).perform_later("hello", name: "Ada")
    found = find(job.provider_job_id)
    assert_equal ["NoteJob", "mail", 8, "queued"], found.values_at("kind", "queue", "priority", "state")
    assert_equal ["NoteJob", job.job_id], found["args"].values_at("job_class", "job_id")
    assert_equal "hello", found["args"]["arguments"][0]
  end

  def test_later
    at = Time.now + 3600
    found = find(NoteJob.set(wait_until: at).perform_later("later").provider_job_id)
    assert_in_delta at.to_f, Time.parse(found["run_at"]).to_f, 0.01
  end

  def test_priorities_go_from_one_which_comes_first
    { nil => 5, 1 => 9, 5 => 5, 9 => 1 }.each do |given, want|
      assert_equal want, find(NoteJob.set(priority: given).perform_later("x").provider_job_id)["priority"]
    end
    [0, 10, -5, 100].each do |given|
      error = assert_raises(ArgumentError) { NoteJob.set(priority: given).perform_later("x") }
      assert_equal "NoteJob: priority #{given}: with meanwhile, give from 1, which comes first, to 9", error.message
    end
  end

  def test_one_class_alone
    other = Class.new(ActiveJob::Base)
    assert_instance_of ActiveJob::QueueAdapters::MeanwhileAdapter, NoteJob.queue_adapter
    refute_instance_of ActiveJob::QueueAdapters::MeanwhileAdapter, other.queue_adapter
    assert_equal "meanwhile", NoteJob.queue_adapter_name
  end

  def test_options_of_a_class
    first = RetryJob.perform_later("a")
    assert_equal first.provider_job_id, RetryJob.perform_later("a").provider_job_id
    refute_equal first.provider_job_id, RetryJob.perform_later("b").provider_job_id
    found = find(first.provider_job_id)
    assert_equal ["key-a", { "tenant" => "7" }, 1], found.values_at("limit_key", "meta", "max_attempts")
    keyed = find(BrieflyStubbornJob.perform_later("a").provider_job_id)
    assert_equal "BrieflyStubbornJob stubborn/a", keyed["unique_key"]
    assert_equal 0.2, Meanwhile::Text.seconds(find(SlowJob.perform_later.provider_job_id)["timeout"].to_s + "s")
    error = assert_raises(ArgumentError) { Class.new(ApplicationJob) { meanwhile uniq: true } }
    assert_includes error.message, "meanwhile has no option uniq: there are unique,"
  end

  def test_options_are_inherited_and_not_shared
    child = Class.new(RetryJob) { meanwhile timeout: 5 }
    assert_equal true, child.meanwhile_options[:unique]
    refute RetryJob.meanwhile_options.key?(:timeout)
    assert_empty ActiveJob::Base.meanwhile_options
  end

  def test_many
    jobs = (1..2500).map { |i| CountJob.new(i) }
    assert_equal 2500, CountJob.queue_adapter.enqueue_all(jobs)
    assert_equal 2500, jobs.map(&:provider_job_id).uniq.size
    assert_equal jobs[1234].job_id, find(jobs[1234].provider_job_id)["args"]["job_id"]
    assert_equal 2500, @server.client("admin").instance_variable_get(:@http).call(:get, "/counts", what: "count").to_s.scan(/\d+/).map(&:to_i).max
  end

  # In newer versions of Rails a job knows whether it was enqueued.
  class NewerJob < CountJob
    attr_accessor :successfully_enqueued
  end

  def test_many_of_which_one_is_refused
    jobs = (1..1500).map { |i| NewerJob.new(i).tap { |job| job.queue_name = "a queue" if i == 1300 } }
    error = assert_raises(Meanwhile::Refused) { CountJob.queue_adapter.enqueue_all(jobs) }
    assert_includes error.message, "line 300: "
    marked = jobs.count(&:successfully_enqueued)
    assert_equal error.problem["enqueued"], marked
    assert_equal marked, jobs.take_while(&:successfully_enqueued).size
    assert_operator marked, :>=, 1000
  end

  def test_an_answer_that_is_lost_doubles_nothing
    proxy = Proxy.new(@server.port, lose: 2)
    use("http://127.0.0.1:#{proxy.port}")
    job = NoteJob.perform_later("once")
    assert_equal 3, proxy.accepted
    page = @server.client("admin").instance_variable_get(:@http).call(:get, "/jobs?kind=NoteJob", what: "list")
    assert_equal [job.provider_job_id], page["jobs"].map { |j| j["id"] }
  ensure
    proxy.close
  end

  # The job may have finished by the time that a second request would come, and its key would be free.
  def test_an_answer_that_is_lost_does_not_enqueue_a_unique_job_again
    work
    proxy = Proxy.new(@server.port, lose: 2)
    use("http://127.0.0.1:#{proxy.port}")
    assert_raises(Meanwhile::Unavailable) { UniqueJob.perform_later("alone") }
    assert_raises(Meanwhile::Unavailable) { UniqueJob.queue_adapter.enqueue_all([UniqueJob.new("of many")]) }
    assert_equal 2, proxy.accepted
    eventually("both have run") { lines.sort == ["unique alone", "unique of many"] }
  ensure
    proxy.close
  end

  def test_an_answer_that_is_lost_enqueues_a_job_again_whose_key_is_held
    proxy = Proxy.new(@server.port, lose: 2)
    use("http://127.0.0.1:#{proxy.port}")
    id = HourJob.perform_later("once").provider_job_id
    assert_equal [3, id], [proxy.accepted, HourJob.perform_later("once").provider_job_id]
  ensure
    proxy.close
  end

  def test_a_connection_that_is_refused_is_tried_again
    use("http://127.0.0.1:1")
    tries = 0
    Meanwhile.client.instance_variable_get(:@http).define_singleton_method(:exchange) { |*given| (tries += 1) && super(*given) }
    assert_raises(Meanwhile::Unreachable) { UniqueJob.perform_later("x") }
    assert_equal 3, tries
  end

  def test_many_whose_answer_is_lost_are_there_once
    proxy = Proxy.new(@server.port, lose: 1)
    use("http://127.0.0.1:#{proxy.port}")
    jobs = (1..150).map { |i| CountJob.new(i) }
    assert_equal 150, CountJob.queue_adapter.enqueue_all(jobs)
    page = @server.client("admin").instance_variable_get(:@http).call(:get, "/jobs?kind=CountJob&limit=200", what: "list")
    assert_equal jobs.map(&:provider_job_id).sort, page["jobs"].map { |j| j["id"] }.sort
  ensure
    proxy.close
  end

  def test_connections_are_kept_and_not_shared_with_a_fork
    proxy = Proxy.new(@server.port)
    use("http://127.0.0.1:#{proxy.port}")
    10.times { |i| NoteJob.perform_later(i.to_s) }
    assert_equal 1, proxy.accepted
    child = fork { exit!(NoteJob.perform_later("child").provider_job_id ? 0 : 1) }
    assert_equal 0, Process.wait2(child)[1].exitstatus
    NoteJob.perform_later("parent")
    assert_equal 2, proxy.accepted
  ensure
    proxy.close
  end

  def test_threads
    ids = Array.new(8) { |t| Thread.new { Array.new(20) { |i| NoteJob.perform_later("#{t}/#{i}").provider_job_id } } }.flat_map(&:value)
    assert_equal 160, ids.uniq.size
  end

  def test_a_server_that_is_away
    use("http://127.0.0.1:1", timeout: 5)
    error = assert_raises(Meanwhile::Unavailable) { NoteJob.perform_later("x") }
    assert_match(%r{\Aenqueue NoteJob: no answer from http://127.0.0.1:1: .*refused}, error.message)
  end

  def test_a_server_that_does_not_answer
    silent = TCPServer.new("127.0.0.1", 0)
    use("http://127.0.0.1:#{silent.addr[1]}", timeout: 0.5)
    begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_raises(Meanwhile::Unavailable) { NoteJob.perform_later("x") }
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, :<, 20
  ensure
    silent.close
  end

  def test_a_wrong_token
    Meanwhile.configure(url: @server.url, token: "wrong-s3cret", timeout: PATIENCE)
    error = assert_raises(Meanwhile::Unauthorized) { NoteJob.perform_later("x") }
    assert_equal 401, error.status
    refute_includes error.full_message + Meanwhile.client.inspect, "s3cret"
  end

  def test_args_that_are_no_json_and_options_that_there_are_not
    error = assert_raises(ArgumentError) { Meanwhile.enqueue("a", { "x" => Float::NAN }) }
    assert_includes error.message, "enqueue a: the args are not JSON"
    error = assert_raises(ArgumentError) { Meanwhile.enqueue("a", 1, priorty: 3) }
    assert_includes error.message, "no option priorty: there are queue, priority"
    error = assert_raises(Meanwhile::Refused) { Meanwhile.enqueue("a", 1, priority: 10) }
    assert_includes error.message, "priority 10: give from 1 to 9 (422)"
  end

  def test_without_active_job
    first = Meanwhile.enqueue("words.count", { lines: ["a b"] }, unique_key: "k", unique_for: 60, delay: 60, timeout: 5, meta: { tenant: 7 })
    second = Meanwhile.enqueue("words.count", { lines: [] }, unique_key: "k")
    assert_equal [false, true, first.id], [first.duplicate, second.duplicate, second.id]
    assert_equal({ "tenant" => "7" }, find(first.id)["meta"])
    assert_operator Time.parse(find(first.id)["run_at"]) - Time.now, :>, 10
  end
end
