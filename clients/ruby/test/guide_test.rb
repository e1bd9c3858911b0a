# frozen_string_literal: true

require_relative "helper"
require_relative "guide"

class GuideTest < Minitest::Test
  include Helper

  GUIDE = File.expand_path("guide.rb", __dir__)

  def test_one_class
    now, later, mail = enqueued_later
    work("-q", "mail,default", app: GUIDE)
    assert_equal %w[completed completed], [ended(now.provider_job_id)["state"], ended(mail.provider_job_id)["state"]]
    assert_equal ["welcome 7", "welcome 9"], lines.sort
    assert_equal "scheduled", state(later.provider_job_id)
  end

  def test_options
    job = SyncJob.perform_later(7, full: true)
    assert_equal job.provider_job_id, SyncJob.perform_later(7, full: true).provider_job_id
    work(app: GUIDE)
    found = ended(job.provider_job_id)
    assert_equal ["completed", 5, "tenant-7", { "done" => 3, "total" => 3 }],
                 [*found.values_at("state", "max_attempts", "limit_key"), found["progress"].slice("done", "total")]
    assert_equal "7", found["meta"]["tenant"]
    assert_equal ["page 0", "page 1", "page 2"], found["records"].map { |r| r["message"] }
  end

  def test_outcomes
    ids = [404, 410, 423, 429].map { |status| OutcomeJob.perform_later(status).provider_job_id }
    work(app: GUIDE)
    eventually("all have ended") { ids.map { |id| state(id) } == %w[canceled discarded scheduled retrying] }
  end

  def test_without_active_job
    work("-q", "images", app: GUIDE)
    assert_equal({ "width" => 300, "height" => 200 }, resized)
  end

  # Active Job's test adapter works with our options as with other adapters.
  def test_with_the_adapter_for_tests
    adapter = ActiveJob::QueueAdapters::TestAdapter.new
    quiet = Class.new(SyncJob) { self.queue_adapter = adapter }
    quiet.perform_later(7)
    assert_equal 1, adapter.enqueued_jobs.size
  end

  def test_the_example
    example = File.expand_path("../examples/documents.rb", __dir__)
    out = IO.popen({ "MEANWHILE_URL" => @server.url, "MEANWHILE_API_TOKEN" => TOKENS["worker"] }, [RbConfig.ruby, example, "30"], err: %i[child out], &:read)
    assert_match(/\A30 jobs of 50 ms .*\nActive Job's :async, 3 threads .* s\nmeanwhile, one worker, 100 threads .* s\nmeanwhile, one worker, 100 fibers .* s\n\z/, out)
    jobs = @server.client("admin").instance_variable_get(:@http).call(:get, "/jobs?kind=IndexJob&state=completed&limit=100", what: "list")["jobs"]
    assert_equal 60, jobs.size
  end
end
