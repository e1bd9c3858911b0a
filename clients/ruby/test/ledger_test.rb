# frozen_string_literal: true

require_relative "helper"
require "logger"
require "meanwhile/worker"

class LedgerTest < Minitest::Test
  # parts returns the sizes of the batches that are reported, for ends with this many bytes and this many records and following jobs.
  def parts(number, bytes: 10, more: 0)
    ledger = Meanwhile::Ledger.new(1000)
    attempts = Array.new(number) { |i| Meanwhile::Attempt.new("1", { "id" => i.to_s, "attempt" => 1 }) }
    ledger.begin(attempts)
    attempts.each { |a| ledger.finish(Meanwhile::Ledger::Ending.new(a, "x" * bytes, more)) }
    ledger.close
    found = []
    while (part = ledger.ends)
      found << part
    end
    assert_equal attempts, found.flatten.map(&:attempt)
    found.map(&:size)
  end

  def test_parts_are_bounded
    assert_equal [500, 500, 1], parts(1001)
    assert_equal [9, 9, 2], parts(20, more: 101)
    assert_equal [4, 4, 2], parts(10, bytes: 1 << 20)
    assert_equal [1, 1], parts(2, bytes: 5 << 20, more: 1100)
    assert_empty parts(0)
  end

  def test_an_end_counts_once
    ledger = Meanwhile::Ledger.new(1)
    attempt = Meanwhile::Attempt.new("1", { "id" => "a", "attempt" => 1 })
    ledger.begin([attempt])
    2.times { |i| ledger.finish(Meanwhile::Ledger::Ending.new(attempt, i.to_s, 0)) }
    assert_equal 1, ledger.room
    assert_equal ["0"], ledger.ends.map(&:json)
    assert_equal [attempt], ledger.held
    ledger.reported([attempt])
    assert_empty ledger.held
  end
end

class AttemptTest < Minitest::Test
  def test_records_are_bounded_and_none_is_dropped_in_silence
    attempt = Meanwhile::Attempt.new("1", { "id" => "a", "attempt" => 1 })
    250.times { |i| attempt.record("info", "line #{i}" + "x" * 5000) }
    records = attempt.take_records
    assert_equal 101, records.size
    assert_includes records[0]["message"], "150 lines before this were dropped"
    assert records.all? { |r| r["message"].bytesize <= 1024 }
    attempt.record("info", "new")
    attempt.give_back(nil, records)
    again = attempt.take_records
    assert_equal ["line 249", "new"], again.last(2).map { |r| r["message"][0, 8] }
    assert_includes again[0]["message"], "2 lines before this were dropped"
    assert_empty attempt.take_records
  end

  def test_progress_is_bounded
    attempt = Meanwhile::Attempt.new("1", { "id" => "a", "attempt" => 1 })
    attempt.progress(-2**63, 2**63 - 1)
    [[-2**63 - 1, 1], [1, 2**63]].each { |given| assert_raises(RangeError) { attempt.progress(*given) } }
    assert_equal({ "done" => -2**63, "total" => 2**63 - 1 }, attempt.take_progress)
  end

  # What the server does not accept would make it refuse each further extension.
  def test_what_the_server_refuses_is_not_sent_again
    refused = Meanwhile::Refused.new("refused", status: 422)
    { refused => false, Meanwhile::Unauthorized.new("refused", status: 401) => true, Meanwhile::Unavailable.new("away") => true }.each do |error, again|
      client = Object.new
      client.define_singleton_method(:work) { |*, **| raise error }
      attempt = Meanwhile::Attempt.new("1", { "id" => "a", "attempt" => 1 })
      attempt.progress(1, 2)
      attempt.record("info", "line")
      worker = Meanwhile::Worker.new(client: client, logger: Logger.new(IO::NULL))
      assert_raises(error.class) { worker.send(:extend_leases, [attempt]) }
      assert_equal [again, again], [attempt.progress?, !attempt.take_records.empty?], error.class
    end
  end

  def test_follow_is_bounded
    attempt = Meanwhile::Attempt.new("1", { "id" => "a", "attempt" => 1 })
    1000.times { attempt.follow({}) }
    assert_raises(ArgumentError) { attempt.follow({}) }
  end
end
