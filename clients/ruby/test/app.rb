# frozen_string_literal: true

require "active_job"
require "meanwhile"

# The application of the tests, which the worker and the tests load.
ActiveJob::Base.logger = Logger.new(nil)
# Translations are loaded when they are first needed, which on a busy machine takes as long as the timeout of SlowJob.
I18n.eager_load!

# note writes a line for the test.
def note(text)
  File.open(ENV.fetch("LEDGER"), "a") { |f| f.syswrite("#{text}\n") }
end

# gate waits until a test creates the file.
def gate(name)
  sleep 0.02 until File.exist?(File.join(File.dirname(ENV.fetch("LEDGER")), name))
end

class ApplicationJob < ActiveJob::Base
  self.queue_adapter = :meanwhile
end

class NoteJob < ApplicationJob
  def perform(text, name: "nobody")
    note("#{text} #{name} #{provider_job_id}")
  end
end

class CountJob < ApplicationJob
  def perform(number)
    sleep 0.01
    note("count #{number}")
  end
end

class GateJob < ApplicationJob
  def perform(name)
    note("begun #{name}")
    gate(name)
    note("done #{name}")
  end
end

# OwnOutcome has no delay.
class OwnOutcome < Meanwhile::RetryAfter
  def initialize; end
end

class FailJob < ApplicationJob
  def perform(how)
    case how
    when "error" then raise ArgumentError, "no such user"
    when "cancel" then raise Meanwhile::Cancel, "there is nobody to write to"
    when "discard" then raise Meanwhile::Discard, "it is broken for good"
    when "snooze" then raise Meanwhile::Snooze.new(3600)
    when "after" then raise Meanwhile::RetryAfter.new(3600, "slow down")
    when "header" then raise Meanwhile::RetryAfter.new("3600", "slow down")
    when "never" then raise Meanwhile::RetryAfter.new(nil)
    when "endless" then raise Meanwhile::Snooze.new(Float::INFINITY)
    when "own" then raise OwnOutcome
    when "thread" then Thread.exit
    when "exit" then exit(7)
    when "stack" then perform(how)
    end
  end
end

class RetryJob < ApplicationJob
  meanwhile unique: true, limit_key: ->(name) { "key-#{name}" }, meta: { tenant: 7 }, max_attempts: 1
  retry_on ArgumentError, wait: 0, attempts: 3
  discard_on KeyError

  def perform(name)
    note("try #{executions} of #{name}")
    raise KeyError, "gone" if name == "discarded"
    raise ArgumentError, "not yet" if executions < 3
  end
end

class RescueJob < ApplicationJob
  retry_on IOError, wait: 3600, attempts: 3

  def perform
    raise IOError, "the connection is broken"
  rescue IOError
    raise Meanwhile::Discard, "it is broken for good"
  end
end

# Thing is a record whose database is away.
GlobalID.app = "test"
Thing = Struct.new(:id) do
  include GlobalID::Identification

  def self.find(_id)
    raise IOError, "the database is away"
  end
end

class ThingJob < ApplicationJob
  meanwhile unique: ->(thing) { "thing #{thing.id}" if thing.id == "1" }, unique_for: 60
  retry_on ActiveJob::DeserializationError, wait: 3600, attempts: 3

  def perform(_thing); end
end

class LateRetryJob < ApplicationJob
  retry_on ArgumentError, wait: 3600, attempts: 3

  def perform(name)
    note("begun #{name}")
    sleep 0.02 until Meanwhile.job.canceled?
    raise ArgumentError, "not yet"
  end
end

class UniqueJob < ApplicationJob
  meanwhile unique: true

  def perform(name)
    note("unique #{name}")
  end
end

# Both keep their unique key after they have finished.
class HourJob < RetryJob
  meanwhile unique_for: 3600
end

class HourAfterJob < RetryJob
  meanwhile unique_for: 3600, unique_while: %i[queued completed]
end

class SlowJob < ApplicationJob
  meanwhile timeout: 0.2, max_attempts: 1

  def perform
    sleep 300
  end
end

class PoliteJob < ApplicationJob
  def perform(name)
    note("begun #{name}")
    loop do
      Meanwhile.job.check!
      sleep 0.02
    end
  end
end

class StubbornJob < ApplicationJob
  # Like code in C that cannot be interrupted.
  def perform
    Thread.handle_interrupt(Object => :never) do
      note("begun")
      sleep 300
    end
  end
end

class BusyJob < ApplicationJob
  def perform
    note("begun")
    nil while true
  end
end

class PlaceJob < ApplicationJob
  def perform(name, _number)
    note("#{Thread.current.object_id} #{Fiber.current.object_id}")
    gate(name)
    note(Meanwhile.job.id)
  end
end

class BrieflyStubbornJob < ApplicationJob
  meanwhile unique: ->(name) { "stubborn/#{name}" }, unique_for: 60

  def perform(name)
    note("begun #{name}")
    sleep 300
  rescue StandardError
    note("rescued #{name}")
  ensure
    note("ensured #{name}")
  end
end

Meanwhile.handle("words.count") do |job|
  lines = job.args.fetch("lines")
  lines.each.with_index(1) do |line, i|
    Meanwhile.logger.info("line #{i}: #{line}")
    job.progress(i, lines.size)
  end
  { "words" => lines.sum { |line| line.split.size } }
end

# NotJSON is part of a result that cannot be encoded.
class NotJSON
  def to_json(*)
    raise NoMethodError, "it has no JSON"
  end
end

Meanwhile.handle("not.json") { { "x" => NotJSON.new } }
