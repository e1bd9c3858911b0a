"""A worker in Python: claims jobs over HTTP, runs them, extends their leases while they run, and ends gracefully at TERM."""
import json, os, platform, signal, socket, threading, time, traceback, urllib.request

URL, TOKEN = os.environ["URL"], os.environ.get("TOKEN", "")
NAME = f"{socket.gethostname()}:{os.getpid()}"
LEASE = 30  # seconds; extended every third of it
stopping = threading.Event()
held = {}  # session: IDs of the jobs that run


def count_words(args):
    return {"words": len(args["text"].split())}


KINDS = {"words.count": count_words}


def call(path, body):
    headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + TOKEN} if TOKEN else {})
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.loads(answer.read() or "null")


def again(path, body):  # finish and extend may be sent twice
    while True:
        try:
            return call(path, body)
        except OSError as e:  # no connection, or an answer of 500 and above
            if getattr(e, "code", 500) < 500 or stopping.is_set():
                raise
            time.sleep(1)


def extend():
    about = {"name": NAME, "host": socket.gethostname(), "pid": os.getpid(), "language": "python " + platform.python_version(), "concurrency": 1}
    while True:
        time.sleep(LEASE / 3)
        sessions = [{"session": s, "jobs": ids} for s, ids in list(held.items())]
        try:
            if again("/worker/extend", {"worker": about, "lease": LEASE, "sessions": sessions})["state"] == "stop":
                stopping.set()
        except Exception:
            traceback.print_exc()  # without this loop the leases would end


def run(session, job):
    end = {"session": session, "id": job["id"], "attempt": job["attempt"]}
    if stopping.is_set():
        return end | {"outcome": "released"}
    try:
        return end | {"outcome": "completed", "result": KINDS[job["kind"]](job["args"])}
    except Exception as e:
        error = {"type": type(e).__name__, "message": str(e), "backtrace": traceback.format_exc().splitlines()}
        return end | {"outcome": "failed", "error": error}


signal.signal(signal.SIGTERM, lambda *_: stopping.set())
threading.Thread(target=extend, daemon=True).start()
while not stopping.is_set():
    # The wait is short, so that the worker stops soon after TERM.
    got = again("/worker/claim", {"worker": NAME, "queues": ["default"], "kinds": list(KINDS), "limit": 10, "lease": LEASE, "wait": 2})
    held[got["session"]] = [job["id"] for job in got["jobs"]]
    for job in got["jobs"]:
        again("/worker/finish", {"ends": [run(got["session"], job)]})
    del held[got["session"]]
call("/worker/leave", {"worker": NAME})
