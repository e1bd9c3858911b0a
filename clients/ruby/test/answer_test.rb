# frozen_string_literal: true

require_relative "helper"
require "meanwhile/worker"

# An answer that is not from the server, such as that of a proxy, counts as none: a worker tries again instead of losing a thread.
class AnswerTest < Minitest::Test
  def test_answers_of_others
    ["", "[]", '"welcome"', "{}", "welcome"].each do |text|
      answering(text) do |url|
        client = Meanwhile::Client.new(Meanwhile::Settings.new(url: url, token: "t", timeout: 5))
        { claim: "jobs", extend: "state", finish: "lost" }.each do |call, wanted|
          error = assert_raises(Meanwhile::Unavailable, "#{call}: #{text.inspect}") { client.work(call, {}, wanted: wanted) }
          assert_match(/is it a meanwhile server\?/, error.message)
        end
      end
    end
  end

  def test_a_mistake_in_a_thread_ends_the_worker
    answering('{"state":"run"}') do |url|
      client = Meanwhile::Client.new(Meanwhile::Settings.new(url: url, token: "t", timeout: 5))
      worker = Meanwhile::Worker.new(client: client, queues: ["default"], logger: Logger.new(IO::NULL))
      worker.define_singleton_method(:order) { |_| raise NoMethodError, "a mistake" }
      assert_raises(NoMethodError) { worker.run }
    end
  end

  private

  # answering yields the URL of a server that answers each request with the same text.
  def answering(text)
    listener = TCPServer.new("127.0.0.1", 0)
    serving = Thread.new do
      while (socket = listener.accept)
        answer_one(socket, text)
      end
    rescue IOError
      nil # the listener was closed
    end
    yield "http://127.0.0.1:#{listener.local_address.ip_port}"
  ensure
    listener.close
    serving.join
  end

  def answer_one(socket, text)
    size = 0
    while (line = socket.gets) && line != "\r\n"
      size = line.split[1].to_i if line.downcase.start_with?("content-length:")
    end
    socket.read(size)
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: #{text.bytesize}\r\nConnection: close\r\n\r\n#{text}")
  ensure
    socket.close
  end
end
