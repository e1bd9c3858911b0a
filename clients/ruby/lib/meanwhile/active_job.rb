# frozen_string_literal: true

require "active_job"

module Meanwhile
  # JobOptions is the class method `meanwhile` of Active Job classes.
  module JobOptions
    KNOWN = %i[unique unique_for unique_while replace limit_key max_attempts timeout meta].freeze

    # meanwhile sets options for all jobs of a class and its subclasses:
    #
    #   unique:       true allows no two unfinished jobs with the same arguments; or a lambda that returns the key
    #   unique_for:   seconds for which the key is held after enqueueing, even if the job has finished
    #   unique_while: the states in which another job with the key prevents this one, such as ["queued"]
    #   replace:      true replaces the arguments and the time of a queued job with the key by those of this one
    #   limit_key:    a String, or a lambda that returns it: the key for the queue's limits per key
    #   max_attempts: number of attempts, 20 by default. retry_on does not count: it enqueues a new job
    #   timeout:      timeout of an attempt in seconds, none by default
    #   meta:         a Hash of metadata to find jobs by, or a lambda that returns it
    #
    # Lambdas get the arguments of perform, and self is the job; nil is the same as no option. Raises ArgumentError.
    def meanwhile(**options)
      unknown = options.keys - KNOWN
      raise ArgumentError, "#{name}: meanwhile has no option #{unknown.join(", ")}: there are #{KNOWN.join(", ")}" unless unknown.empty?

      self.meanwhile_options = meanwhile_options.merge(options)
    end
  end

  # Serialized builds request bodies for enqueueing Active Job's jobs.
  module Serialized
    PRIORITIES = (1..9).freeze

    module_function

    # body returns the body for a job that is due now, or at timestamp, in seconds since 1970. Its lambda for the unique key may be impossible to call,
    # see value: kept_key is the key then.
    def body(job, timestamp, kept_key = nil)
      options = job.class.meanwhile_options
      Client.body(
        job.class.name, job.serialize,
        queue: job.queue_name, priority: priority(job), run_at: timestamp,
        **unique(job, options, kept_key), **options.slice(:max_attempts, :timeout),
        limit_key: value(job, options[:limit_key])&.to_s, meta: value(job, options[:meta])
      )
    end

    # priority converts Active Job's priority, where lower numbers come first, to the server's, where 9 comes first.
    def priority(job)
      return if job.priority.nil?
      return 10 - job.priority if job.priority.is_a?(Integer) && PRIORITIES.cover?(job.priority)

      raise ArgumentError, "#{job.class.name}: priority #{job.priority.inspect}: with meanwhile, give from 1, which comes first, to 9"
    end

    def unique(job, options, kept_key)
      key = options[:unique] == true ? true : value(job, options[:unique], kept_key)
      return {} unless key

      more = options.slice(:unique_for, :unique_while, :replace)
      key == true ? more.merge(unique_args: ["arguments"]) : more.merge(unique_key: key.to_s)
    end

    # apart returns the body such that a completed job does not keep it out: with unique_for, the attempt that enqueues it holds the key.
    def apart(body)
      return body unless body.key?("unique_key") || body.key?("unique_args")

      states = (body["unique_while"] || %w[queued running]).map(&:to_s) - ["completed"]
      states.empty? ? body.reject { |name, _| name.start_with?("unique_") } : body.merge("unique_while" => states)
    end

    # value calls a lambda with the arguments of a job, or returns `kept` if they are not deserialized: a job may be enqueued again before that.
    def value(job, given, kept = nil)
      return given unless given.respond_to?(:call)

      job.send(:arguments_serialized?) ? kept : job.instance_exec(*job.arguments, &given)
    end
  end
end

module ActiveJob
  module QueueAdapters
    # MeanwhileAdapter is the adapter for Active Job that enqueues jobs on the server: queue_adapter = :meanwhile.
    class MeanwhileAdapter
      # enqueue and enqueue_at raise a Meanwhile::Error if the job is not enqueued, or if that is unknown.
      def enqueue(job)
        put(job, nil)
      end

      def enqueue_at(job, timestamp)
        put(job, timestamp)
      end

      # enqueue_all is for perform_all_later in newer versions of Rails. It returns the number of enqueued jobs.
      def enqueue_all(jobs)
        bulk = Meanwhile.client.enqueue_all(jobs.map { |job| Meanwhile::Serialized.body(job, job.scheduled_at&.to_f) })
        jobs.zip(bulk.ids) { |job, id| job.provider_job_id = id }
        mark(jobs)
        bulk.enqueued + bulk.duplicates
      rescue Meanwhile::Refused => e
        mark(jobs.take(e.problem.values_at("enqueued", "duplicates").sum))
        raise
      end

      # Newer versions of Rails ask whether to enqueue after the commit of a transaction: yes, since the server is not part of the transaction.
      def enqueue_after_transaction_commit?
        true
      end

      # Newer versions of Rails ask whether a long job should stop at its next step.
      def stopping?
        Meanwhile.job&.stopping? || false
      end

      private

      # put enqueues a job. A job that enqueues itself again from its own attempt, as with retry_on, is enqueued together with the
      # end of the attempt, in one transaction: it is neither lost nor duplicated, and its unique key is free for it. If the attempt is canceled,
      # put raises Cancel instead.
      def put(job, timestamp)
        running = Meanwhile.job
        if running && running.active_job_id == job.job_id
          running.check!
          # Options that cannot be computed because the arguments are not deserialized keep their values.
          body = Meanwhile::Serialized.body(job, timestamp, running.unique_key)
          running.follow({ "limit_key" => running.limit_key, "meta" => running.meta }.compact.merge(Meanwhile::Serialized.apart(body)))
        else
          job.provider_job_id = Meanwhile.client.insert(Meanwhile::Serialized.body(job, timestamp)).id
        end
      end

      def mark(jobs)
        jobs.each { |job| job.successfully_enqueued = true if job.respond_to?(:successfully_enqueued=) }
      end
    end
  end
end

ActiveSupport.on_load(:active_job) do
  class_attribute :meanwhile_options, instance_accessor: false, default: {}
  extend Meanwhile::JobOptions
end
