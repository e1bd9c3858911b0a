# frozen_string_literal: true

require "logger"

module Meanwhile
  # JobLogger is a Logger whose lines become records of the job that logs them. In addition, and outside of jobs, lines go to the
  # destination of the Logger.
  class JobLogger < ::Logger
    LEVELS = { DEBUG => "debug", INFO => "info", WARN => "warn" }.freeze
    private_constant :LEVELS

    def add(severity, message = nil, progname = nil, &block)
      severity ||= UNKNOWN
      return true if severity < level

      if message.nil?
        message = block ? block.call : progname
        progname = self.progname unless block
      end
      Meanwhile.job&.record(LEVELS.fetch(severity, "error"), plain(message))
      super(severity, message, progname)
    end
    alias log add

    private

    def plain(message)
      case message
      when String then message
      when Exception then "#{message.message} (#{message.class})"
      else message.inspect
      end
    end
  end
end
