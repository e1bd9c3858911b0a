# frozen_string_literal: true

require "json"
require "net/http"
require "openssl"

module Meanwhile
  # HTTP sends requests to the server, over connections that it keeps open. It may be used by several threads, and by a process that was forked later,
  # which opens its own connections.
  class HTTP
    API = "/api/v1"
    MOST_IDLE = 32             # connections that are kept open
    MOST_ANSWER = 256 << 20    # bytes
    IDLE = 60                  # seconds; the server closes after 120
    VERBS = { get: Net::HTTP::Get, post: Net::HTTP::Post }.freeze
    BROKEN = [SystemCallError, IOError, SocketError, Net::OpenTimeout, Net::ReadTimeout, Net::WriteTimeout,
              Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError, Net::ProtocolError, OpenSSL::SSL::SSLError].freeze
    UNOPENED = [Errno::ECONNREFUSED, SocketError, Net::OpenTimeout].freeze # of these that come only while a connection is opened
    private_constant :VERBS, :BROKEN, :UNOPENED

    def initialize(settings)
      @settings = settings
      @lock = Mutex.new
      @idle = []
      @pid = Process.pid
    end

    # call sends a request and returns the parsed JSON of the answer, or nil if it has none. `what` describes the request in messages, `key` is an
    # Idempotency-Key. The request may take `timeout` seconds, and connecting as long again. Raises Unavailable, Unreachable, Refused or
    # Unauthorized.
    def call(verb, path, body = nil, what:, timeout: @settings.timeout, type: "application/json", key: nil)
      request = VERBS.fetch(verb).new(@settings.uri.path + API + path, headers(body && type))
      request["Idempotency-Key"] = key if key
      request.body = body
      response, text = exchange(request, timeout)
      answer(response, text, what)
    rescue *BROKEN => e
      error = UNOPENED.any? { |type| type === e } ? Unreachable : Unavailable
      raise error, "#{what}: no answer from #{@settings}: #{Text.utf8(e.message, 300)} (#{e.class})", cause: nil
    end

    private

    def headers(type)
      found = { "Accept" => "application/json", "Accept-Encoding" => "identity", "User-Agent" => "meanwhile-ruby/#{VERSION}" }
      found["Content-Type"] = type if type
      found["Authorization"] = @settings.authorization if @settings.authorization
      found
    end

    # exchange returns a connection to the pool only if the whole answer was read, so that no answer is mistaken for that of another request.
    def exchange(request, timeout)
      deadline = now + timeout
      http = checkout
      whole = false
      http.open_timeout = http.ssl_timeout = http.read_timeout = http.write_timeout = timeout
      http.start unless http.started?
      http.read_timeout = http.write_timeout = [deadline - now, 0.01].max
      text = +""
      response = http.request(request) { |r| r.read_body { |part| append(text, part, deadline) } }
      whole = true
      [response, text]
    ensure
      whole ? checkin(http) : discard(http)
    end

    def append(text, part, deadline)
      raise IOError, "the answer has more than #{MOST_ANSWER} bytes" if text.bytesize + part.bytesize > MOST_ANSWER
      raise IOError, "the answer takes too long" if now > deadline

      text << part
    end

    def answer(response, text, what)
      status = response.code.to_i
      return parse(text, what) if status.between?(200, 299)

      problem = problem(response, text)
      message = "#{what}: #{@settings}: #{problem["detail"]} (#{status})"
      case status
      when 401, 403 then raise Unauthorized.new(message, status: status, problem: problem)
      when 408, 429, 500.. then raise Unavailable, message
      else raise Refused.new(message, status: status, problem: problem)
      end
    end

    def parse(text, what)
      return nil if text.empty?

      found = JSON.parse(text.force_encoding(Encoding::UTF_8), max_nesting: 200)
      raise JSON::ParserError unless found.is_a?(Hash) # from a proxy, for example

      found
    rescue JSON::ParserError
      raise Unavailable, "#{what}: the answer of #{@settings} is not JSON: is it a meanwhile server?", cause: nil
    end

    def problem(response, text)
      found = JSON.parse(text)
      return found if found.is_a?(Hash) && found["detail"].is_a?(String)

      raise JSON::ParserError
    rescue JSON::ParserError
      to = response["Location"]
      { "detail" => to ? "it redirects elsewhere: give the address of the server itself" : "#{response.message}, and no reason: is it a meanwhile server?" }
    end

    def checkout
      kept = @lock.synchronize do
        # A forked process has copies of its parent's sockets: closing them would end TLS for both.
        @idle, @pid = [], Process.pid if @pid != Process.pid
        @idle.pop
      end
      kept || connection
    end

    def connection
      http = Net::HTTP.new(@settings.uri.hostname, @settings.uri.port)
      http.use_ssl = @settings.uri.scheme == "https"
      http.keep_alive_timeout = IDLE
      http.max_retries = 0 # the caller knows which requests may be repeated
      http
    end

    def checkin(http)
      kept = @lock.synchronize { @idle.push(http) if @pid == Process.pid && @idle.size < MOST_IDLE }
      discard(http) unless kept
    end

    def discard(http)
      http.finish if http&.started?
    rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
      nil # it is already closed
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
