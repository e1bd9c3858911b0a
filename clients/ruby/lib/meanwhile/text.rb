# frozen_string_literal: true

require "time"

module Meanwhile
  # Text converts values to the forms of the protocol.
  module Text
    UNITS = { "h" => 3600, "m" => 60, "s" => 1, "ms" => 1e-3, "us" => 1e-6, "µs" => 1e-6, "ns" => 1e-9 }.freeze

    module_function

    # utf8 returns a text as valid UTF-8 of at most `most` bytes. Invalid parts are replaced.
    def utf8(text, most)
      text = text.to_s
      text = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace) unless text.encoding == Encoding::UTF_8 || text.encoding == Encoding::BINARY
      text = text.dup.force_encoding(Encoding::UTF_8).byteslice(0, most)
      text.scrub("\uFFFD").byteslice(0, most).scrub("")
    end

    # moment returns the time in RFC 3339 format. It accepts a Time, or seconds since 1970.
    def moment(time)
      time = Time.at(time) if time.is_a?(Numeric)
      time.to_time.utc.iso8601(6)
    end

    # seconds parses a duration as the server writes it, such as "1m30s".
    def seconds(text)
      text.scan(/([\d.]+)(h|ms|m|us|µs|ns|s)/).sum { |number, unit| number.to_f * UNITS.fetch(unit) }
    end

    # span formats a number of seconds as a duration, to the millisecond.
    def span(seconds)
      "#{(seconds * 1000).round}ms"
    end
  end
end
