# frozen_string_literal: true

# The application of the guide, docs/rails.md: it has the code blocks of the guide, and guide_test.rb runs them.
require "active_job"
require "meanwhile"

ActiveJob::Base.logger = Logger.new(nil)

class WelcomeJob < ActiveJob::Base
  self.queue_adapter = :meanwhile

  def perform(user)
    Mailer.welcome(user)
  end
end

# Mailer writes the emails that it would send.
module Mailer
  def self.welcome(user)
    File.write(ENV.fetch("LEDGER"), "welcome #{user}\n", mode: "a")
  end
end

class SyncJob < ActiveJob::Base
  self.queue_adapter = :meanwhile
  meanwhile unique: true, unique_while: ["queued"],
            limit_key: ->(tenant, **) { "tenant-#{tenant}" },
            meta: ->(tenant, **) { { tenant: tenant } },
            max_attempts: 5, timeout: 60

  def perform(tenant, full: false)
    pages = full ? 3 : 1
    pages.times do |page|
      Meanwhile.job.check!
      Meanwhile.logger.info("page #{page}")
      Meanwhile.job.progress(page + 1, pages)
    end
  end
end

class OutcomeJob < ActiveJob::Base
  self.queue_adapter = :meanwhile

  def perform(status)
    case status
    when 404 then raise Meanwhile::Cancel, "there is nobody to write to"
    when 410 then raise Meanwhile::Discard, "the address is wrong for good"
    when 423 then raise Meanwhile::Snooze.new(600)
    when 429 then raise Meanwhile::RetryAfter.new(30, "too many requests")
    end
  end
end

Meanwhile.handle("resize") do |job|
  width = job.args.fetch("width")
  { "width" => width, "height" => width * 2 / 3 }
end

# resized enqueues a job of another kind and waits for its result.
def resized
  enqueued = Meanwhile.enqueue("resize", { width: 300 }, queue: "images", priority: 9)
  Meanwhile.client.find(enqueued.id, wait: 30)["result"]
end

# enqueued_later enqueues jobs as the guide does.
def enqueued_later
  [
    WelcomeJob.perform_later(7),
    WelcomeJob.set(wait: 3600).perform_later(8),
    WelcomeJob.set(queue: "mail", priority: 1).perform_later(9)
  ]
end
