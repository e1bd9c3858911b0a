# frozen_string_literal: true

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))

require "active_job"
require "digest"
require "fileutils"
require "meanwhile"
require "minitest/autorun"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "app"

# Helpers of the tests: the server, a Go program whose path is MEANWHILE_BINARY, and the worker of this gem run as processes.
module Helper
  BINARY = ENV.fetch("MEANWHILE_BINARY") { abort "MEANWHILE_BINARY is not set: run MEANWHILE_LONG=1 go test ./clients/ruby" }
  EXE = File.expand_path("../exe/meanwhile", __dir__)
  APP = File.expand_path("app.rb", __dir__)
  PATIENCE = 60 # seconds to wait for an expected event
  TOKENS = { "worker" => "worker-t0ken", "admin" => "admin-t0ken" }.freeze

  # A Server is a "meanwhile serve" process with a SQLite file, which may be killed and restarted at the same address.
  class Server
    attr_reader :url, :port

    def initialize(folder)
      @folder = folder
      @port = 0
      start
    end

    def start
      log = File.join(@folder, "serve.log")
      File.write(log, "")
      tokens = TOKENS.flat_map { |role, token| ["--token", "#{role}:#{role}:#{Digest::SHA256.hexdigest(token)}"] }
      @pid = spawn(BINARY, "serve", "--store", "sqlite:#{@folder}/jobs.db", "--concurrency", "0", "--listen", "127.0.0.1:#{@port}", *tokens,
                   out: log, err: log, chdir: @folder)
      Helper.eventually("the server starts") { @url = File.read(log)[%r{serving (http://\S+?)"}, 1] }
      @port = URI(@url).port
    end

    def stop(signal = "TERM")
      Process.kill(signal, @pid)
      Process.wait(@pid)
    end

    # client returns a client with a token of a role.
    def client(role = "worker", timeout: PATIENCE)
      Meanwhile::Client.new(Meanwhile::Settings.new(url: @url, token: TOKENS[role], timeout: timeout))
    end
  end

  # A Proxy passes connections on to a server, and loses the first answer on the first `lose` connections.
  class Proxy
    attr_reader :port, :accepted

    def initialize(port, lose: 0)
      @listener = TCPServer.new("127.0.0.1", 0)
      @port = @listener.addr[1]
      @accepted = 0
      @thread = Thread.new do
        loop do
          here = @listener.accept
          @accepted += 1
          Thread.new(@accepted <= lose) { |losing| pass(here, TCPSocket.new("127.0.0.1", port), losing) }
        end
      end
    end

    def close
      @thread.kill
      @listener.close
    end

    private

    def pass(here, there, losing)
      Thread.new { IO.copy_stream(here, there) rescue nil }
      losing ? there.readpartial(1) : IO.copy_stream(there, here)
    rescue SystemCallError, IOError
      nil
    ensure
      [here, there].each { |socket| socket.shutdown rescue nil }
    end
  end

  # A Worker is a process of the gem's command.
  class Worker
    attr_reader :pid

    def initialize(folder, url, *arguments, app: APP, env: {}, token: TOKENS["worker"])
      @log = File.join(folder, "worker-#{rand(1 << 64)}.log")
      set = { "MEANWHILE_URL" => url, "MEANWHILE_API_TOKEN" => token, "LEDGER" => File.join(folder, "ledger") }.merge(env)
      @pid = spawn(set, RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", EXE, *(["-r", app] if app), *arguments, out: @log, err: @log, chdir: folder)
    end

    def log
      File.read(@log)
    end

    def signal(name)
      Process.kill(name, @pid)
    end

    # status waits for the process to exit and returns its exit status.
    def status
      Helper.eventually("the worker ends:\n#{log}") do
        _, ended = Process.wait2(@pid, Process::WNOHANG)
        @status = ended if ended
      end
      @status.exitstatus || "killed"
    end

    def running?
      @status.nil?
    end
  end

  # eventually returns the block's value as soon as that is truthy.
  def self.eventually(what)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
    loop do
      found = yield
      return found if found
      raise "#{what}: not within #{PATIENCE} s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.05
    end
  end

  def eventually(what, &block)
    Helper.eventually(what, &block)
  end

  def setup
    @folder = Dir.mktmpdir
    @ledger = File.join(@folder, "ledger")
    @server = Server.new(@folder)
    @workers = []
    use(@server.url)
  end

  def teardown
    @workers.each { |w| warn w.log } unless passed?
    @workers.select(&:running?).each { |w| w.signal("KILL") && w.status }
    @server&.stop("KILL")
  ensure
    FileUtils.rm_rf(@folder)
  end

  # use makes the Active Job classes of this process enqueue on the server at a URL.
  def use(url, timeout: PATIENCE)
    Meanwhile.configure(url: url, token: TOKENS["worker"], timeout: timeout)
  end

  def work(*arguments, **options)
    Worker.new(@folder, @server.url, *arguments, **options).tap { |w| @workers << w }
  end

  # find returns a job with the token of an administrator, ended does the same after waiting for the job to finish.
  def find(id)
    @server.client("admin").find(id)
  end

  # state returns the state of a job, in which queued is divided into queued, scheduled and retrying.
  def state(id)
    found = find(id)
    found["view"] || found["state"]
  end

  # used returns the number of attempts that count.
  def used(job)
    job["attempt"] - job["uncounted"]
  end

  def ended(id)
    job = @server.client("admin").find(id, wait: PATIENCE)
    assert_includes %w[completed canceled discarded], job["state"], "job #{job.inspect}\n#{@workers.map(&:log).join}"
    job
  end

  # lines returns the lines that jobs have written.
  def lines
    File.exist?(@ledger) ? File.readlines(@ledger, chomp: true) : []
  end
end
