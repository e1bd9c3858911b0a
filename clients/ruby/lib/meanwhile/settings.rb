# frozen_string_literal: true

require "uri"

module Meanwhile
  # Settings are the URL and the token for the server. They are read once and never change.
  class Settings
    DEFAULT_URL = "http://127.0.0.1:7070"

    SERVERS = /\A[^:,]+:(admin|viewer|worker):\h{64}(,|\z)/.freeze
    private_constant :SERVERS

    # The URL of the server as a URI, without the token, and the timeout of a call in seconds.
    attr_reader :uri, :timeout

    # The URL is that of the server, not of its API: http://host:7070, or https://host/prefix. The token is the user part of the URL, or a separate
    # argument. Raises ConfigError.
    def initialize(url: nil, token: nil, timeout: 5)
      url ||= ENV["MEANWHILE_URL"]
      url = DEFAULT_URL if url.nil? || url.empty?
      given = parse(url)
      @token = choose(given, token || ENV["MEANWHILE_API_TOKEN"])
      @uri = given.class.build(host: given.host, port: given.port, path: given.path)
      @timeout = timeout
      return if timeout.is_a?(Numeric) && timeout.positive?

      raise ConfigError, "timeout #{timeout.inspect}: give a positive number of seconds"
    end

    # The header with the token, or nil without a token.
    def authorization
      @token && "Bearer #{@token}"
    end

    # The address to show in messages.
    def to_s
      @uri.to_s
    end

    # It does not show the token.
    def inspect
      "#<#{self.class} #{self}#{" with a token" if @token}>"
    end

    private

    # parse does not show the URL in its messages, since it may contain a token.
    def parse(url)
      uri = URI.parse(url.chomp("/"))
      return uri if uri.is_a?(URI::HTTP) && uri.host && !uri.host.empty? && !uri.query && !uri.fragment

      raise ConfigError, "MEANWHILE_URL is not the address of a server: give one such as #{DEFAULT_URL}"
    rescue URI::InvalidURIError
      raise ConfigError, "MEANWHILE_URL is not a URL: give one such as #{DEFAULT_URL}, and percent-encode the token in it", cause: nil
    end

    def choose(uri, token)
      token = nil if token && token.empty?
      if uri.password
        raise ConfigError, "MEANWHILE_URL has a password: give the token alone before the @, as in http://TOKEN@host:7070"
      end

      # The server has a setting with the same name, which may be in the same environment.
      servers = token&.match?(SERVERS)
      inside = uri.user && URI.decode_www_form_component(uri.user.gsub("+", "%2B"))
      if inside && token && !servers && inside != token
        raise ConfigError, "MEANWHILE_URL and MEANWHILE_API_TOKEN have different tokens: give one of them"
      end

      check(inside || token)
    rescue ArgumentError
      raise ConfigError, "the token in MEANWHILE_URL is not percent-encoded", cause: nil
    end

    def check(token)
      case token
      when SERVERS
        raise ConfigError, "the token has the form NAME:ROLE:HASH, which is the server's setting: give the token itself, here or in MEANWHILE_URL"
      when /[^\x21-\x7e]/
        raise ConfigError, "the token has a space, a line break or another character that no token has"
      end
      token
    end
  end
end
