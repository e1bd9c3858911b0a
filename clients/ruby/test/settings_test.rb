# frozen_string_literal: true

require_relative "helper"

class SettingsTest < Minitest::Test
  HASH = "37ae6df2f1e245431011f795c9253d84c958b2a2a7866d46bb7200ab28f34cf4"

  def test_where_the_token_comes_from
    [
      [{ url: "http://s3cret@host:7070" }, "http://host:7070", "Bearer s3cret"],
      [{ url: "https://s3%2Bcret@host/jobs/" }, "https://host/jobs", "Bearer s3+cret"],
      [{ url: "http://host:7070", token: "s3cret" }, "http://host:7070", "Bearer s3cret"],
      [{ url: "http://s3cret@host:7070", token: "s3cret" }, "http://host:7070", "Bearer s3cret"],
      [{ url: "http://s3cret@host", token: "ruby:worker:#{HASH},ada:admin:#{HASH}" }, "http://host", "Bearer s3cret"],
      [{ url: "http://[::1]:7070" }, "http://[::1]:7070", nil],
      [{}, "http://127.0.0.1:7070", nil]
    ].each do |given, url, authorization|
      settings = Meanwhile::Settings.new(**given)
      assert_equal [url, authorization], [settings.to_s, settings.authorization].map { |s| s }, given.inspect
      refute_includes settings.inspect, "s3cret"
    end
  end

  def test_wrong_settings_name_the_remedy_and_no_token
    {
      { url: "ftp://s3cret@host" } => "give one such as http://127.0.0.1:7070",
      { url: "host:7070" } => "give one such as http://127.0.0.1:7070",
      { url: "http://s3cret host" } => "MEANWHILE_URL is not a URL",
      { url: "http://user:s3cret@host" } => "give the token alone before the @",
      { url: "http://s3cret@host", token: "other" } => "have different tokens",
      { url: "http://host", token: "s3cret\n" } => "no token has",
      { url: "http://host", token: "ruby:worker:#{HASH}" } => "give the token itself",
      { url: "http://host", timeout: 0 } => "give a positive number of seconds",
      { url: "http://%zz-s3cret@host" } => "percent-encode"
    }.each do |given, want|
      error = assert_raises(Meanwhile::ConfigError, given.inspect) { Meanwhile::Settings.new(**given) }
      assert_includes error.message, want
      refute_match(/s3cret|#{HASH}/, error.full_message)
    end
  end
end

class TextTest < Minitest::Test
  def test_utf8_is_valid_and_bounded
    ["", "plain", "ä" * 100, "\xff\xfe broken", "ä".encode("ISO-8859-1"), "\x00\xff".b, "€" * 50].each do |text|
      (0..12).each do |most|
        got = Meanwhile::Text.utf8(text, most)
        assert got.valid_encoding? && got.encoding == Encoding::UTF_8 && got.bytesize <= most, [text, most, got].inspect
      end
    end
    assert_equal "ä", Meanwhile::Text.utf8("ä".encode("ISO-8859-1"), 10)
  end

  def test_durations
    { "30s" => 30, "1m30s" => 90, "1h0m0.5s" => 3600.5, "250ms" => 0.25, "90s" => 90 }.each do |text, want|
      assert_in_delta want, Meanwhile::Text.seconds(text), 1e-9
    end
    assert_equal "1500ms", Meanwhile::Text.span(1.5)
  end
end
