# Pushes jobs and runs them by speaking the protocol itself, with the servers of FAKTORY_URLS, and prints what it does. It ends each attempt twice, at
# a different server each time. On USR2 it stops pushing, on TERM it exits.
require "digest/sha2" # load it now: threads that load it concurrently fail
require "json"
require "securerandom"
require "socket"
require "uri"

SERVERS = ENV.fetch("FAKTORY_URLS").split.map { |url| URI(url) }
WID = SecureRandom.hex(8)
$stdout.sync = Thread.abort_on_exception = true
$producing = $working = true
trap("USR2") { $producing = false }
trap("TERM") { $producing = $working = false }

# A Peer is a connection to a server.
class Peer
  def initialize(uri, wid)
    @socket = Socket.tcp(uri.host, uri.port, connect_timeout: 30)
    hi = JSON.parse(read.delete_prefix("HI "))
    hash = hi.fetch("i").times.reduce(URI.decode_www_form_component(uri.password) + hi.fetch("s")) { |text, _| Digest::SHA256.digest(text) }
    hello = { v: 2, pwdhash: hash.unpack1("H*"), wid: wid, hostname: "host", pid: Process.pid, labels: ["ruby"] }.compact
    ask("HELLO #{JSON.generate(hello)}") == "OK" or raise IOError, "no handshake"
  end

  def ask(command)
    @socket.write("#{command}\r\n")
    read
  end

  # read returns the text of an answer; errors start with "ERR", and nil is an empty answer.
  def read
    @socket.wait_readable(30) or raise IOError, "no answer"
    line = @socket.gets("\r\n", chomp: true) or raise EOFError
    return line[1..] unless line.start_with?("$")

    size = Integer(line[1..])
    size.negative? ? nil : @socket.read(size + 2).chomp
  end
end

# Peers are the connections of one thread. A command is sent to one of the servers, again and again until that answers, or only once.
class Peers
  def initialize(wid = nil)
    @wid, @open = wid, {}
  end

  def ask(number, command, again: true)
    uri = SERVERS[number % SERVERS.size]
    (@open[uri] ||= Peer.new(uri, @wid)).ask(command)
  rescue SystemCallError, IOError
    @open.delete(uri)
    return unless again && $working

    sleep 0.05
    retry
  end
end

def end_twice(peers, number, jid, fails:)
  puts "began #{jid}"
  puts "failing #{jid}" if fails
  command = fails ? "FAIL #{JSON.generate(jid: jid, errtype: "Ledger", message: "on purpose")}" : "ACK #{JSON.generate(jid: jid)}"
  answers = [number, number + 1].map { |at| peers.ask(at, command) }
  puts "#{fails ? "failed" : "acked"} #{jid}" if answers.include?("OK")
end

producer = Thread.new do
  peers = Peers.new
  (0..).each do |n|
    $producing or break
    jid = SecureRandom.hex(8)
    body = JSON.generate(jid: jid, jobtype: "ledger", args: [n], reserve_for: 60)
    puts "pushed #{jid}" if peers.ask(n, "PUSH #{body}", again: false) == "OK"
    sleep 0.02
  end
end

# Every fifth job fails in its first attempt.
workers = Array.new(4) do |first|
  Thread.new do
    peers = Peers.new(WID)
    (first..).each do |n|
      $working or break
      text = peers.ask(n, "FETCH default", again: false)
      next sleep(0.01) if text.nil? || text.start_with?("ERR")

      job = JSON.parse(text)
      end_twice(peers, n, job["jid"], fails: job["jid"].sum % 5 == 0 && !job["failure"])
    end
  end
end
[producer, *workers].each(&:join)
