# The subjects of the Go benchmarks with Elixir's Task, in the form of Go's benchmark results:
#
#     elixir bench/elixir/tasks.exs
defmodule Tasks do
  def run do
    # Once to warm up: the first use of a module loads it.
    spawn_all(10)
    stream(Enum.to_list(1..10), 10, fn _ -> 1 end)

    n = 1000
    report("Spawn/n=#{n}/parent=background/lib=elixir", median(20, fn -> spawn_all(n) end) * 1000 / n, "ns/task")

    n = 100_000
    items = Enum.to_list(0..(n - 1))

    us = median(3, fn -> ^n = length(stream(items, 64, fn i -> 2 * i end)) end)
    report("Map/item=trivial/limit=64/lib=elixir", us * 1000 / n, "ns/item")

    us =
      median(3, fn ->
        stream(Enum.to_list(0..3999), 64, fn i ->
          Process.sleep(if rem(i, 100) == 0, do: 20, else: 1)
          i
        end)
      end)

    report("Slow/lib=elixir", us / 1000, "ms")

    us = median(3, fn -> stream(Enum.to_list(1..10_000), 1000, fn _ -> Process.sleep(1) end) end)
    report("Wait1ms/lib=elixir", us / 1000, "ms")

    us = median(1, fn -> 1..1000 |> Enum.map(fn _ -> Task.async(fn -> Process.sleep(500) end) end) |> Task.await_many() end)
    report("Wait500ms/lib=elixir", us / 1000, "ms")

    numbers = [0, 1, 2, 3, 4]
    rounds = 2000
    us = median(3, fn -> for _ <- 1..rounds, do: Enum.map(numbers, fn i -> 2 * i end) end)
    report("Small/lib=elixir-loop", us * 1000 / rounds, "ns/map")
    us = median(3, fn -> for _ <- 1..rounds, do: stream(numbers, 64, fn i -> 2 * i end) end)
    report("Small/lib=elixir", us * 1000 / rounds, "ns/map")

    memory(n)
    cancel(n)
  end

  def spawn_all(n), do: 1..n |> Enum.map(fn i -> Task.async(fn -> i end) end) |> Task.await_many()

  # Ordered, as is the default.
  def stream(items, limit, fun) do
    items
    |> Task.async_stream(fun, max_concurrency: limit, timeout: :infinity)
    |> Enum.map(fn {:ok, value} -> value end)
  end

  # Starts a process that owns n tasks, which end with it, and returns it and them.
  defp waiters(n, wait) do
    me = self()

    owner =
      spawn(fn ->
        send(me, {:tasks, for(_ <- 1..n, do: Task.async(wait).pid)})
        Process.sleep(:infinity)
      end)

    pids = receive do: ({:tasks, pids} -> pids)
    Process.sleep(200)
    {owner, pids}
  end

  # Ends them and waits for the end of each.
  defp stop({owner, pids}) do
    monitors = for pid <- [owner | pids], do: Process.monitor(pid)

    :timer.tc(fn ->
      Process.exit(owner, :shutdown)
      for _ <- monitors, do: receive(do: ({:DOWN, _, _, _, _} -> :ok))
    end)
    |> elem(0)
  end

  defp memory(n) do
    before = held()
    waiters = waiters(n, fn -> Process.sleep(3_600_000) end)
    now = held()
    report("Memory/n=#{n}/lib=elixir", (now.total - before.total) / n, "B/task", (now.rss - before.rss) / n, "rss-B/task")
    stop(waiters)
  end

  defp held do
    :erlang.garbage_collect()
    %{total: :erlang.memory(:total), rss: resident()}
  end

  defp resident do
    case File.read("/proc/self/statm") do
      {:ok, text} -> text |> String.split() |> Enum.at(1) |> String.to_integer() |> Kernel.*(4096)
      _ -> 0
    end
  end

  defp cancel(n) do
    times = for _ <- 1..3, do: n |> waiters(fn -> receive do: (:never -> :ok) end) |> stop()
    report("Cancel/n=#{n}/by=parent/lib=elixir", Enum.at(Enum.sort(times), 1) / 1000, "ms")
  end

  # The median of some runs, in microseconds.
  defp median(runs, fun) do
    times = for _ <- 1..runs, do: fun |> :timer.tc() |> elem(0)
    Enum.at(Enum.sort(times), div(runs, 2))
  end

  defp report(name, value, unit), do: IO.puts("Benchmark#{name} 1 #{number(value)} #{unit}")
  defp report(name, a, ua, b, ub), do: IO.puts("Benchmark#{name} 1 #{number(a)} #{ua} #{number(b)} #{ub}")
  defp number(value), do: :erlang.float_to_binary(value / 1, decimals: 2)
end

Tasks.run()
