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

# Meanwhile enqueues and runs jobs of a meanwhile server, with Active Job through its adapter :meanwhile, or without it.
module Meanwhile
  @lock = Mutex.new
  @handlers = {}

  class << self
    # logger is the logger of the worker. Jobs may use it, too: lines that a job logs become records of the job as well.
    attr_writer :logger

    def logger
      @lock.synchronize do
        @logger ||= JobLogger.new($stderr, formatter: proc { |level, time, _, message| "#{time.utc.strftime("%FT%TZ")} #{level} #{message}\n" })
      end
    end

    # configure sets the URL of the server, its token and the timeout of a call in seconds, for the whole process. The defaults of the first two are
    # MEANWHILE_URL and MEANWHILE_API_TOKEN. Raises ConfigError.
    def configure(url: nil, token: nil, timeout: 5)
      client = Client.new(Settings.new(url: url, token: token, timeout: timeout))
      @lock.synchronize { @client = client }
    end

    # client returns the client of the process.
    def client
      @lock.synchronize { @client ||= Client.new }
    end

    # enqueue and enqueue_all call the methods of the client, see Client.
    def enqueue(kind, args = nil, **options)
      client.enqueue(kind, args, **options)
    end

    def enqueue_all(bodies)
      client.enqueue_all(bodies)
    end

    # handle sets the handler for jobs of a kind that does not belong to Active Job. The block gets an Attempt. Its return value is the result of the
    # job if it is a Hash, an Array, a String, a number, true or false.
    def handle(kind, &block)
      raise ArgumentError, "handle #{kind}: give a block" unless block

      @lock.synchronize do
        raise ArgumentError, "handle #{kind}: there is a handler already" if @handlers.key?(kind.to_s)

        @handlers[kind.to_s] = block
      end
    end

    # handlers returns the handlers by kind.
    def handlers
      @lock.synchronize { @handlers.dup }
    end

    # job returns the Attempt that runs in this thread, or in this fiber if each job has its own fiber; nil elsewhere.
    def job
      Thread.current[:meanwhile_job] || Thread.current.thread_variable_get(:meanwhile_job)
    end
  end
end

require "meanwhile/active_job" if defined?(ActiveJob)
