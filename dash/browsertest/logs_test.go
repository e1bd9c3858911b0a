package browsertest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/meanwhile-go/meanwhile/logs"
)

// testLogs: new records appear at the top; records can be searched; links lead to their job and back; a bar links to its time.
func (s *stage) testLogs(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/logs")
	b.run(Until(`document.querySelectorAll("#rows tr[data-id]").length === 100`), Do(`var before = document.querySelector("#rows tr")`))
	r := logs.Record{Time: time.Now(), Service: "shop-web", Level: slog.LevelError, Message: "came in <b>live</b>", Job: s.Import.String(), Task: "worker/one"}
	if err := Log(b.ctx, s.logs, r); err != nil {
		t.Fatal(err)
	}
	b.run(Until(`document.querySelector("#rows tr .message").innerText === "came in <b>live</b>"`))
	if !eval[bool](b, `document.querySelectorAll("#rows tr")[1] === before && document.querySelectorAll("#rows tr").length === 100`) {
		t.Error("the rows that were there were drawn anew, or there are more than a page of them")
	}
	// The list does not move while the pointer or the focus is in it.
	b.run(chromedp.KeyEvent("j"), Until(`document.activeElement.closest("#rows tr:first-child")`))
	r.Message = "came in while somebody reads"
	if err := Log(b.ctx, s.logs, r); err != nil {
		t.Fatal(err)
	}
	b.run(Until(`document.querySelector("#newer.on")`), chromedp.Click("#newer"), Until(`document.querySelector("#rows tr .message").innerText === "came in while somebody reads"`))

	b.run(chromedp.SendKeys(`[name="q"]`, `"payment example" -slow`+kb.Enter), Until(`location.search.includes("q=%22payment")`))
	b.run(Until(`[...document.querySelectorAll("#rows .message")].every(e => e.innerText.startsWith("checkout failed"))`), Until(`document.querySelector("#rows").innerText.includes("token=•••")`))
	b.run(Do(`document.querySelector("#chart svg a").dispatchEvent(new MouseEvent("click", {bubbles: true}))`), Until(`location.search.includes("since=") && location.search.includes("until=")`))
	b.run(Until(`document.querySelectorAll("#rows tr[data-id]").length > 0`))

	b.open("/jobs/" + s.Import.String())
	b.run(Until(`document.querySelector("#logs").innerText.includes("a host answers slowly")`))
	b.click("#logs", "All that it has logged")
	b.run(Until(`location.pathname === "/logs" && document.querySelectorAll("#rows tr[data-id]").length >= 4`))
	b.click("#rows", "job")
	b.run(Until(`location.pathname.startsWith("/jobs/")`))
}
