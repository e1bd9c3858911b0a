# frozen_string_literal: true

# Not all of meanwhile: that checks what the application has loaded by then.
require "meanwhile/errors"
require "meanwhile/fibers"
require "meanwhile/settings"
require "meanwhile/version"
require "optparse"

module Meanwhile
  # CLI is the gem's command: it loads the application and runs a worker until a signal stops it.
  class CLI
    HELP = <<~TEXT
      Usage: bundle exec meanwhile [-c N] [-q QUEUES] [-r FILE] [--fibers]

      Runs the jobs of a meanwhile server: those of Active Job classes, and those of kinds that Meanwhile.handle names.
      The server is that of MEANWHILE_URL, by default #{Settings::DEFAULT_URL}; the token, of role worker or admin, is in
      MEANWHILE_API_TOKEN or before the @ of the URL.

    TEXT
    SIGNALS = <<~TEXT

      TERM, INT   stop: claim no more, give running jobs the grace, release those that still run; a second one ends the grace
      TSTP        claim no more; what runs goes on
      USR1        log what runs, and at which lines

      Exit status: 0 stopped, 1 ends of jobs could not be reported, or the application cannot be loaded, 2 wrong usage or settings, or the server
      refuses the worker.
    TEXT

    # run returns the exit status.
    def self.run(arguments)
      new.run(arguments)
    end

    def run(arguments)
      @options = { concurrency: 10, queues: ["default"], grace: 25 }
      return 0 if parse(arguments) == :shown

      Settings.new # to check the settings before the application is loaded
      load_application
      work
    rescue OptionParser::ParseError, ConfigError => e
      wrong(e)
    end

    private

    def wrong(error)
      warn "meanwhile: #{error.message}"
      2
    end

    def parse(arguments)
      parser = OptionParser.new(HELP) do |o|
        o.on("-c", "--concurrency N", Integer, "jobs at once (default 10), each in a thread") { |n| @options[:concurrency] = n }
        o.on("-q", "--queues A,B", Array, "queues, in order of preference (default default)") { |names| @options[:queues] = names }
        o.on("-r", "--require FILE", "load this file instead of config/environment.rb") { |file| @file = file }
        o.on("--grace SECONDS", Float, "seconds that running jobs get to end at a stop (default 25)") { |s| @options[:grace] = s }
        o.on("--fibers", "each job in a fiber instead, by the gem async") { @options[:fibers] = Fibers.async }
        o.on("--version", "print the version") { puts(VERSION) || (return :shown) }
        o.on("-h", "--help", "print this") { puts(o.help, SIGNALS) || (return :shown) }
      end
      rest = parser.parse(arguments)
      raise OptionParser::InvalidArgument, rest.first unless rest.empty?
    end

    def file
      @file || "config/environment.rb"
    end

    # load_application passes on what the application raises, so that it is shown with its place.
    def load_application
      unless File.file?(file)
        raise ConfigError, "there is no #{file} here: #{@file ? "give another file to -r" : "run in the folder of a Rails application, or give -r FILE"}"
      end

      require File.expand_path(file)
      require "meanwhile"
      require "meanwhile/worker"
      record_rails_logger
    end

    # record_rails_logger makes each line of Rails.logger a record of the job that logs it.
    def record_rails_logger
      return unless defined?(::Rails.logger) && ::Rails.logger

      records = JobLogger.new(nil, level: ::Rails.logger.level)
      if ::Rails.logger.respond_to?(:broadcast_to)
        ::Rails.logger.broadcast_to(records)
      elsif defined?(::ActiveSupport::Logger.broadcast)
        ::Rails.logger.extend(::ActiveSupport::Logger.broadcast(records))
      end
    end

    def work
      kinds = defined?(::ActiveJob) ? nil : Meanwhile.handlers.keys
      raise ConfigError, "#{file} has neither Active Job nor a Meanwhile.handle: there is nothing to run" if kinds == []

      worker = new_worker(kinds)
      %w[TERM INT].each { |name| Signal.trap(name) { worker.stop } }
      Signal.trap("TSTP") { worker.quiet }
      Signal.trap("USR1") { worker.report }
      reported = worker.run
      status = reported ? 0 : 1
      # A thread that cannot be stopped would keep the process running forever.
      Process.exit!(status) if worker.stuck?
      status
    rescue Refused => e
      wrong(e)
    end

    def new_worker(kinds)
      Worker.new(**@options, kinds: kinds)
    rescue ArgumentError => e
      raise ConfigError, e.message, cause: nil
    end
  end
end
