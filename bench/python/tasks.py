"""The subjects of the Go benchmarks with Python's asyncio, in the form of Go's benchmark results:

    python3 bench/python/tasks.py
"""

import asyncio
import gc
import os
import statistics
import time


def report(name, *figures):
    pairs = zip(figures[::2], figures[1::2])
    print(f"Benchmark{name} 1 " + " ".join(f"{value:.2f} {unit}" for value, unit in pairs), flush=True)


async def median(runs, work):
    """The median time of some runs, in seconds."""
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        await work()
        times.append(time.perf_counter() - begun)
    return statistics.median_high(times)


async def bounded(items, limit, fn):
    """The results are in the order of the items."""
    semaphore = asyncio.Semaphore(limit)

    async def one(item):
        async with semaphore:
            return await fn(item)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(item)) for item in items]
    return [task.result() for task in tasks]


def resident():
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0


async def double(item):
    return 2 * item


async def spawn(n, fn):
    async with asyncio.TaskGroup() as group:
        for i in range(n):
            group.create_task(fn(i))


async def waiters(n):
    task = asyncio.create_task(spawn(n, lambda _: asyncio.sleep(3600)))
    await asyncio.sleep(0.2)
    gc.collect()
    return task


async def end(task):
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass


async def main():
    n = 1000
    s = await median(20, lambda: spawn(n, double))
    report(f"Spawn/n={n}/parent=background/lib=python", s * 1e9 / n, "ns/task")

    n = 100_000
    s = await median(3, lambda: bounded(range(n), 64, double))
    report("Map/item=trivial/limit=64/lib=python", s * 1e9 / n, "ns/item")

    s = await median(3, lambda: bounded(range(4000), 64, lambda i: asyncio.sleep(0.001 if i % 100 else 0.020)))
    report("Slow/lib=python", s * 1e3, "ms")

    s = await median(3, lambda: bounded(range(10_000), 1000, lambda _: asyncio.sleep(0.001)))
    report("Wait1ms/lib=python", s * 1e3, "ms")

    s = await median(1, lambda: spawn(1000, lambda _: asyncio.sleep(0.5)))
    report("Wait500ms/lib=python", s * 1e3, "ms")

    numbers, rounds = range(5), 2000

    async def loop():
        for _ in range(rounds):
            [2 * i for i in numbers]

    async def small():
        for _ in range(rounds):
            await bounded(numbers, 64, double)

    report("Small/lib=python-loop", await median(3, loop) * 1e9 / rounds, "ns/map")
    report("Small/lib=python", await median(3, small) * 1e9 / rounds, "ns/map")

    gc.collect()
    before = resident()
    task = await waiters(n)
    report(f"Memory/n={n}/lib=python", (resident() - before) / n, "rss-B/task")
    await end(task)

    times = []
    for _ in range(3):
        task = await waiters(n)
        begun = time.perf_counter()
        await end(task)
        times.append(time.perf_counter() - begun)
    report(f"Cancel/n={n}/by=parent/lib=python", statistics.median(times) * 1e3, "ms")


asyncio.run(main())
