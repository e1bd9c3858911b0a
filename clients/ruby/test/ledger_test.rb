# frozen_string_literal: true

require_relative "helper"
require "meanwhile/ledger"

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

  def test_follow_is_bounded
    attempt = Meanwhile::Attempt.new("1", { "id" => "a", "attempt" => 1 })
    1000.times { attempt.follow({}) }
    assert_raises(ArgumentError) { attempt.follow({}) }
  end
end
