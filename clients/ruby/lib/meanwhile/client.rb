# frozen_string_literal: true

require "erb"
require "securerandom"

module Meanwhile
  # Enqueued is the result of enqueueing: the ID of the job, or, if duplicate is true, the ID of the existing job that holds its unique key.
  Enqueued = Struct.new(:id, :duplicate)

  # Bulk is the result of enqueueing many jobs: how many were enqueued, for how many a job with the same unique key existed, and the ID of each job,
  # or of the job that holds its key.
  Bulk = Struct.new(:enqueued, :duplicates, :ids)

  # Client enqueues jobs and reads them. It may be used by several threads, and by forked processes.
  class Client
    # Options of a job in addition to its kind and args, see docs/api.md.
    OPTIONS = %i[queue priority max_attempts run_at delay unique_key unique_args unique_for unique_while replace timeout limit_key meta].freeze

    # Options that are durations: seconds, or a text such as "1h30m".
    SPANS = %i[delay unique_for timeout].freeze

    TRIES = 3                    # attempts to enqueue, within the timeout
    PAUSE = 0.1                  # seconds before the second try, and three times as long before the third
    SAME_FOR = 300               # seconds for which a repeated line of enqueue_all is recognized
    BULK_LINES = 1000
    BULK_BYTES = 8 << 20
    BULK_TIMEOUT = 30            # minimum timeout in seconds for each part

    Line = Struct.new(:text, :repeatable)
    private_constant :Line

    attr_reader :settings

    def initialize(settings = Settings.new)
      @settings = settings
      @http = HTTP.new(settings)
    end

    # enqueue enqueues a job and returns an Enqueued. When it has returned, the job is on disk. It retries after a broken connection, and the job is
    # still enqueued only once, by an Idempotency-Key or by a unique key that unique_for holds. The key of another unique job is free as soon as it has
    # finished: after a lost answer this one is not sent again, and it is unknown whether it was enqueued. Raises ArgumentError for unknown options
    # and args that are not JSON, and Unavailable if the server does not answer within the timeout, or if it is unknown whether the job is enqueued.
    def enqueue(kind, args = nil, **options)
      insert(Client.body(kind, args, **options))
    end

    # insert enqueues the job of a body, in the same way as enqueue.
    def insert(body)
      text = encode(body)
      key = SecureRandom.uuid unless unique?(body)
      answer = repeat(@settings.timeout, repeatable?(body, @settings.timeout)) do |left|
        @http.call(:post, "/jobs", text, what: "enqueue #{body["kind"]}", timeout: left, key: key)
      end
      Enqueued.new(answer.fetch("id"), answer.fetch("duplicate"))
    end

    # enqueue_all enqueues many jobs, given as bodies (Client.body), in batches of a thousand, and returns a Bulk. A batch is enqueued only once, even
    # if its request is repeated; with a job that enqueue would not send again, it is not. After an error the batches before it are enqueued; a Refused
    # has their number in `problem`.
    def enqueue_all(bodies)
      total = Bulk.new(0, 0, [])
      parts(bodies.lazy.map { |body| line(body) }) do |part|
        answer = bulk(part, total)
        total.enqueued += answer.fetch("enqueued")
        total.duplicates += answer.fetch("duplicates")
        total.ids.concat(answer.fetch("ids"))
      end
      total
    end

    # find returns a job as a Hash, see docs/api.md. With `wait`, it waits up to that many seconds, 60 at most, for the job to finish.
    def find(id, wait: nil)
      query = wait ? "?wait=#{Text.span(wait)}" : ""
      @http.call(:get, "/jobs/#{ERB::Util.url_encode(id)}#{query}", what: "find job #{id}", timeout: @settings.timeout + wait.to_f)
    end

    # work makes a call of the API for workers, see docs/api.md. If the answer does not have the key `wanted`, it raises Unavailable.
    def work(call, body, wanted: nil, timeout: @settings.timeout)
      text = body.is_a?(String) ? body : JSON.generate(body, max_nesting: 200)
      answer = @http.call(:post, "/worker/#{call}", text, what: call.to_s, timeout: timeout)
      return answer if wanted.nil? || answer&.key?(wanted)

      raise Unavailable, "#{call}: the answer of #{@settings} has no #{wanted.inspect}: is it a meanwhile server?"
    end

    # body returns the request body for a job. Raises ArgumentError.
    def self.body(kind, args = nil, **options)
      unknown = options.keys - OPTIONS
      raise ArgumentError, "enqueue #{kind}: no option #{unknown.join(", ")}: there are #{OPTIONS.join(", ")}" unless unknown.empty?

      body = { "kind" => kind, "args" => args }
      options.each { |name, value| body[name.to_s] = value unless value.nil? }
      SPANS.each { |name| body[name.to_s] = options[name].to_f if options[name] && !options[name].is_a?(String) }
      body["run_at"] = Text.moment(options[:run_at]) if options[:run_at]
      body["meta"] = options[:meta].to_h { |key, value| [key.to_s, value.to_s] } if options[:meta]
      body
    end

    private

    # line returns a Line of a bulk request. That of a job that is not unique can be repeated: its key is held for longer than a request is repeated.
    def line(body)
      body = body.merge("unique_key" => "request/#{SecureRandom.uuid}", "unique_for" => SAME_FOR) unless unique?(body)
      Line.new(encode(body), repeatable?(body, bulk_timeout))
    end

    def unique?(body)
      body.key?("unique_key") || body.key?("unique_args")
    end

    # repeatable? returns whether a request that is repeated within the timeout enqueues no second job, even if the first one has finished.
    def repeatable?(body, timeout)
      return true unless unique?(body)

      held = body["unique_for"]
      held = Text.seconds(held) if held.is_a?(String)
      !held.nil? && held > timeout && !body.key?("unique_while")
    end

    def bulk_timeout
      [@settings.timeout, BULK_TIMEOUT].max
    end

    def encode(body)
      JSON.generate(body)
    rescue JSON::GeneratorError, JSON::NestingError, Encoding::UndefinedConversionError => e
      raise ArgumentError, "enqueue #{body["kind"]}: the args are not JSON: #{Text.utf8(e.message, 300)}", cause: nil
    end

    # parts yields arrays of Lines for requests of a bounded size.
    def parts(lines)
      part, bytes = [], 0
      lines.each do |line|
        if part.size == BULK_LINES || bytes + line.text.bytesize > BULK_BYTES && !part.empty?
          yield part
          part, bytes = [], 0
        end
        part << line
        bytes += line.text.bytesize
      end
      yield part unless part.empty?
    end

    def bulk(part, before)
      repeat(bulk_timeout, part.all?(&:repeatable)) do |left|
        @http.call(:post, "/jobs/bulk?ids=true", part.map(&:text).join("\n"), what: "enqueue #{part.size} jobs", timeout: left, type: "application/x-ndjson")
      end
    rescue Refused => e
      sums = %w[enqueued duplicates].to_h { |name| [name, e.problem[name].to_i + before[name]] }
      raise e.class.new(e.message, status: e.status, problem: e.problem.merge(sums)), cause: nil
    end

    # repeat yields with the seconds left until there is an answer. A request that is not repeatable, it repeats only if the last one was not sent.
    def repeat(timeout, repeatable)
      deadline = now + timeout
      pause = PAUSE
      tries = 0
      begin
        tries += 1
        yield deadline - now
      rescue Unavailable => e
        raise if tries == TRIES || now + pause >= deadline || !(repeatable || e.is_a?(Unreachable))

        sleep pause
        pause *= 3
        retry
      end
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
