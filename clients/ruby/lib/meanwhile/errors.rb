# frozen_string_literal: true

module Meanwhile
  # Error is the superclass of the errors that calls of this library raise. None has a token in its message.
  class Error < StandardError; end

  # ConfigError reports an invalid setting, and a valid alternative.
  class ConfigError < Error; end

  # Unavailable means that the server did not answer in time, or that it answered 429 or with a status from 500 on. The request
  # may have been executed, or not.
  class Unavailable < Error; end

  # Unreachable means that no connection to the server could be opened: the last try was not sent. A try before it may have been.
  class Unreachable < Unavailable; end

  # Refused means that the server does not accept a request. Nothing was changed, unless `problem` says so.
  class Refused < Error
    # The HTTP status, and the problem details (RFC 9457) of the answer, a Hash.
    attr_reader :status, :problem

    def initialize(message, status:, problem: {})
      super(message)
      @status = status
      @problem = problem
    end
  end

  # Unauthorized means that the server does not accept the token: it is missing, wrong (401), or its role may not do this (403).
  class Unauthorized < Refused; end
end
