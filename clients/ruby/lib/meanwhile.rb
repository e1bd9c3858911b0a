# frozen_string_literal: true

require "meanwhile/version"
require "meanwhile/errors"
require "meanwhile/outcomes"
require "meanwhile/settings"
require "meanwhile/text"
require "meanwhile/http"
require "meanwhile/client"
require "meanwhile/attempt"
require "meanwhile/job_logger"

# Meanwhile enqueues and runs jobs of a meanwhile server: with Active Job, by its adapter :meanwhile, or without.
module Meanwhile
  @lock = Mutex.new
  @handlers = {}

  class << self
    # logger is where the worker logs, and where jobs may. Lines that a job logs become records of the job as well.
    attr_writer :logger

    def logger
      @lock.synchronize do
        @logger ||= JobLogger.new($stderr, formatter: proc { |level, time, _, message| "#{time.utc.strftime("%FT%TZ")} #{level} #{message}\n" })
      end
    end

    # configure sets the address of the server, its token and the seconds that a call may take, for the whole process. What is left
    # out is taken from MEANWHILE_URL and MEANWHILE_API_TOKEN; a call takes 5 seconds at most. Raises ConfigError.
    def configure(url: nil, token: nil, timeout: 5)
      client = Client.new(Settings.new(url: url, token: token, timeout: timeout))
      @lock.synchronize { @client = client }
    end

    # client is that of the process.
    def client
      @lock.synchronize { @client ||= Client.new }
    end

    # enqueue and enqueue_all are those of the client.
    def enqueue(kind, args = nil, **options)
      client.enqueue(kind, args, **options)
    end

    def enqueue_all(bodies)
      client.enqueue_all(bodies)
    end

    # handle says what to do for jobs of a kind that is none of Active Job's. The block gets an Attempt. What it returns is the result of the
    # job where that is a Hash, an Array, a String, a number, true or false.
    def handle(kind, &block)
      raise ArgumentError, "handle #{kind}: give a block" unless block

      @lock.synchronize do
        raise ArgumentError, "handle #{kind}: there is a handler already" if @handlers.key?(kind.to_s)

        @handlers[kind.to_s] = block
      end
    end

    # handlers returns the blocks by kind.
    def handlers
      @lock.synchronize { @handlers.dup }
    end

    # job is the Attempt that runs in this thread, or in this fiber where each job has one; nil elsewhere.
    def job
      Thread.current[:meanwhile_job] || Thread.current.thread_variable_get(:meanwhile_job)
    end
  end
end

require "meanwhile/active_job" if defined?(ActiveJob)
