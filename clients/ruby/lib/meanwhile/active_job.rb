# frozen_string_literal: true

require "active_job"

module Meanwhile
  # JobOptions is the class method `meanwhile` of Active Job classes.
  module JobOptions
    KNOWN = %i[unique unique_for unique_while replace limit_key max_attempts timeout meta].freeze

    # meanwhile says what holds for all jobs of a class and its subclasses:
    #
    #   unique:       true for "no two unfinished jobs with the same arguments", or a lambda that returns the key
    #   unique_for:   seconds since the enqueueing for which the key is held, also when the job has finished
    #   unique_while: the states in which another job keeps this one out, such as ["queued"]
    #   replace:      true: a queued job with the key gets the arguments and the time of this one
    #   limit_key:    a String, or a lambda that returns it: whose limits of the queue count
    #   max_attempts: attempts in all, 20 by default. Those of retry_on are beside these: it enqueues anew
    #   timeout:      seconds that an attempt may take, none by default
    #   meta:         a Hash of notes to find jobs by, or a lambda that returns it
    #
    # Lambdas get the arguments of perform, and self is the job; nil is as if nothing were said. Raises ArgumentError.
    def meanwhile(**options)
      unknown = options.keys - KNOWN
      raise ArgumentError, "#{name}: meanwhile has no option #{unknown.join(", ")}: there are #{KNOWN.join(", ")}" unless unknown.empty?

      self.meanwhile_options = meanwhile_options.merge(options)
    end
  end

  # Serialized makes bodies of enqueueing of Active Job's jobs.
  module Serialized
    PRIORITIES = (1..9).freeze

    module_function

    # body returns the body for a job, due at once or at a time in seconds since 1970.
    def body(job, timestamp)
      options = job.class.meanwhile_options
      Client.body(
        job.class.name, job.serialize,
        queue: job.queue_name, priority: priority(job), run_at: timestamp,
        **unique(job, options), **options.slice(:max_attempts, :timeout),
        limit_key: value(job, options[:limit_key])&.to_s, meta: value(job, options[:meta])
      )
    end

    # priority turns Active Job's, of which lower ones come first, into that of the server, of which 9 comes first.
    def priority(job)
      return if job.priority.nil?
      return 10 - job.priority if job.priority.is_a?(Integer) && PRIORITIES.cover?(job.priority)

      raise ArgumentError, "#{job.class.name}: priority #{job.priority.inspect}: with meanwhile, give from 1, which comes first, to 9"
    end

    def unique(job, options)
      key = options[:unique] == true ? true : value(job, options[:unique])
      return {} unless key

      more = options.slice(:unique_for, :unique_while, :replace)
      key == true ? more.merge(unique_args: ["arguments"]) : more.merge(unique_key: key.to_s)
    end

    # value calls a lambda with the arguments of a job. A job that is enqueued again before it could read them has none.
    def value(job, given)
      return given unless given.respond_to?(:call)

      job.instance_exec(*job.arguments, &given) unless job.send(:arguments_serialized?)
    end
  end
end

module ActiveJob
  module QueueAdapters
    # MeanwhileAdapter hands Active Job's jobs to the server: queue_adapter = :meanwhile.
    class MeanwhileAdapter
      # enqueue and enqueue_at raise a Meanwhile::Error when the job is not, or may not be, enqueued.
      def enqueue(job)
        put(job, nil)
      end

      def enqueue_at(job, timestamp)
        put(job, timestamp)
      end

      # enqueue_all is for perform_all_later, which newer versions of Rails have. It returns how many jobs are enqueued.
      def enqueue_all(jobs)
        bulk = Meanwhile.client.enqueue_all(jobs.map { |job| Meanwhile::Serialized.body(job, job.scheduled_at&.to_f) })
        jobs.zip(bulk.ids) { |job, id| job.provider_job_id = id }
        mark(jobs)
        bulk.enqueued + bulk.duplicates
      rescue Meanwhile::Refused => e
        mark(jobs.take(e.problem.values_at("enqueued", "duplicates").sum))
        raise
      end

      # Newer versions of Rails ask whether to enqueue after the commit of a transaction: the server takes no part in it.
      def enqueue_after_transaction_commit?
        true
      end

      # Newer versions of Rails ask whether a long job should stop at its next step.
      def stopping?
        Meanwhile.job&.stopping? || false
      end

      private

      # put enqueues a job. One that enqueues itself again from its own attempt, as retry_on does, follows with the end of the
      # attempt, in one transaction: it is neither lost nor doubled, and its unique key is free for it.
      def put(job, timestamp)
        body = Meanwhile::Serialized.body(job, timestamp)
        running = Meanwhile.job
        if running && running.active_job_id == job.job_id
          # What could not be computed, since the arguments could not be read, is as it was.
          running.follow({ "limit_key" => running.limit_key, "meta" => running.meta }.compact.merge(body))
        else
          job.provider_job_id = Meanwhile.client.insert(body).id
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
