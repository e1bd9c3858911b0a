# frozen_string_literal: true

module Meanwhile
  # Error is the superclass of the errors that calls of this library raise. None has a token in its message.
  class Error < StandardError; end

  # ConfigError says which setting is wrong, and what to give instead.
  class ConfigError < Error; end

  # Unavailable says that the server did not answer in time, or that it answered 429 or with a status from 500 on. What was
  # asked for may have happened, or not.
  class Unavailable < Error; end

  # Refused says that the server does not accept a request. Nothing has happened, but where `problem` says so.
  class Refused < Error
    # The HTTP status, and the problem details (RFC 9457) of the answer, a Hash.
    attr_reader :status, :problem

    def initialize(message, status:, problem: {})
      super(message)
      @status = status
      @problem = problem
    end
  end

  # Unauthorized is a refusal of the token: it is missing, wrong (401), or its role may not do this (403).
  class Unauthorized < Refused; end
end
