package syslog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

func TestMessages(t *testing.T) {
	tests := map[string]struct{ input, want string }{
		"all of RFC 5424":    {`<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.7 myproc 8710 ID1 - %% It's time.`, `2003-08-24T12:14:15.000003Z INFO+1 myproc "%% It's time." facility=String:"local4" host=String:"192.0.2.7" procid=String:"8710" msgid=String:"ID1"`},
		"structured data":    {`<165>1 2003-10-11T22:14:15.003Z h app - - [exampleSDID@32473 iut="3" eventSource="App"][p@1 c="high"] hi`, `2003-10-11T22:14:15.003Z INFO+1 app "hi" facility=String:"local4" host=String:"h" exampleSDID@32473.iut=String:"3" exampleSDID@32473.eventSource=String:"App" p@1.c=String:"high"`},
		"escapes":            {`<14>1 - h app - - [a b="\"\\\]\n [" c="]"] hi`, `INFO app "hi" facility=String:"user" host=String:"h" a.b=String:"\"\\]\\n [" a.c=String:"]"`},
		"empty element":      {`<14>1 - h app - - [a][b c=""]`, `INFO app "" facility=String:"user" host=String:"h" a=String:"" b.c=String:""`},
		"all nil":            {`<14>1 - - - - - -`, `INFO syslog ""` + host},
		"open data":          {`<14>1 - h app - - [a b="c] hi`, `INFO syslog "1 - h app - - [a b=\"c] hi"` + host},
		"no data":            {`<14>1 - h app - - hi`, `INFO syslog "1 - h app - - hi"` + host},
		"version 2":          {`<14>2 - h app - - - hi`, `INFO syslog "2 - h app - - - hi"` + host},
		"leap second":        {`<14>1 2016-12-31T23:59:60Z h app - - - hi`, `2017-01-01T00:00:00Z INFO app "hi" facility=String:"user" host=String:"h"`},
		"no such day":        {`<14>1 2026-02-29T23:59:60Z h app - - - hi`, `INFO syslog "1 2026-02-29T23:59:60Z h app - - - hi"` + host},
		"name of no service": {"<14>1 - h a\x01b - - - hi", "INFO a\x01b \"hi\" facility=String:\"user\" host=String:\"h\""},

		"all of RFC 3164":     {`<34>Oct 11 22:14:15 mymachine su: 'su root' failed`, `2025-10-11T22:14:15Z ERROR+1 su "'su root' failed" facility=String:"auth" host=String:"mymachine"`},
		"process":             {`<30>May  4 03:02:01 h postfix/smtpd[4711]: x`, `2026-05-04T03:02:01Z INFO postfix/smtpd "x" facility=String:"daemon" host=String:"h" procid=String:"4711"`},
		"no colon":            {`<30>May  4 03:02:01 h app[7] x`, `2026-05-04T03:02:01Z INFO app "x" facility=String:"daemon" host=String:"h" procid=String:"7"`},
		"no host":             {`<14>May  4 03:02:01 app[7]: x`, `2026-05-04T03:02:01Z INFO app "x"` + host + ` procid=String:"7"`},
		"no date":             {`<14>h app: x`, `INFO app "x" facility=String:"user" host=String:"h"`},
		"no date, no host":    {`<14>app: x`, `INFO app "x"` + host},
		"no tag":              {`<14>May 04 03:02:01 h hello: world`, `2026-05-04T03:02:01Z INFO hello "world" facility=String:"user" host=String:"h"`},
		"text only":           {`<14>hello world`, `INFO syslog "hello world"` + host},
		"text with colon":     {`<14>hello world: x`, `INFO world "x" facility=String:"user" host=String:"hello"`},
		"a time is no tag":    {`<14>12:15 x`, `INFO syslog "12:15 x"` + host},
		"an address":          {`<14>http://x y`, `INFO syslog "http://x y"` + host},
		"date and text":       {`<14>May  4 03:02:01 h some words`, `2026-05-04T03:02:01Z INFO syslog "some words" facility=String:"user" host=String:"h"`},
		"only a date":         {`<14>May  4 03:02:01`, `2026-05-04T03:02:01Z INFO syslog ""` + host},
		"year":                {`<14>May  4 2019 03:02:01 h app: x`, `2019-05-04T03:02:01Z INFO app "x" facility=String:"user" host=String:"h"`},
		"fraction":            {`<14>May  4 03:02:01.5 h app: x`, `2026-05-04T03:02:01.5Z INFO app "x" facility=String:"user" host=String:"h"`},
		"Cisco":               {`<187>*May  4 03:02:01.123: %LINK-3-UPDOWN: Interface up`, `2026-05-04T03:02:01.123Z ERROR LINK "Interface up" facility=String:"local7" host=String:"192.0.2.1" msgid=String:"%LINK-3-UPDOWN"`},
		"RFC 3339":            {`<14>2026-05-04T03:02:01.5+02:00 h app: x`, `2026-05-04T01:02:01.5Z INFO app "x" facility=String:"user" host=String:"h"`},
		"no such date":        {`<14>May 32 03:02:01 h: x`, `INFO syslog "May 32 03:02:01 h: x"` + host},
		"no such month":       {`<14>Mai  4 03:02:01 h: x`, `INFO syslog "Mai  4 03:02:01 h: x"` + host},
		"IPv6":                {`<14>May  4 03:02:01 2001:db8::1 app: x`, `2026-05-04T03:02:01Z INFO app "x" facility=String:"user" host=String:"2001:db8::1"`},
		"tag of other script": {`<14>größe: x`, `INFO größe "x"` + host},
		"tag with escapes":    {"<14>\x1b[2Jx: y", `INFO syslog "\x1b[2Jx: y"` + host},
		"open bracket":        {`<14>app[7: x`, `INFO syslog "app[7: x"` + host},
		"kernel":              {`<6>May  4 03:02:01 h kernel: [12.3] usb`, `2026-05-04T03:02:01Z INFO kernel "[12.3] usb" facility=String:"kern" host=String:"h"`},

		"no priority":       {`app: x`, `INFO+1 app "x"` + host},
		"greatest priority": {`<191>app: x`, `DEBUG app "x" facility=String:"local7" host=String:"192.0.2.1"`},
		"emergency":         {`<0>app: x`, `ERROR+4 app "x" facility=String:"kern" host=String:"192.0.2.1"`},
		"too great":         {`<192>app: x`, `INFO+1 syslog "<192>app: x"` + host},
		"no number":         {`<>app: x`, `INFO+1 syslog "<>app: x"` + host},
		"open priority":     {`<13`, `INFO+1 syslog "<13"` + host},
		"priority only":     {`<14>`, `INFO syslog ""` + host},
		"version only":      {`<14>1 `, `INFO syslog "1 "` + host},
		"escape at the end": {`<14>1 - - - - - [a b="\`, `INFO syslog "1 - - - - - [a b=\"\\"` + host},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := logtest.Drive(protocol(), []byte(test.input+"\n"))
			if !slices.Equal(got.Records, []string{test.want}) {
				t.Errorf("got  %s\nwant %s", got.Records, test.want)
			}
		})
	}
}

// TestDevices has the forms of routers, switches, firewalls and access points.
func TestDevices(t *testing.T) {
	const (
		at    = "2026-05-04T03:02:01Z INFO+1 "
		sys   = at + `SYS "Configured" facility=String:"local7" host=String:`
		named = ` msgid=String:"%SYS-5-CONFIG_I"`
		ours  = `"192.0.2.1"`
	)
	tests := map[string]struct{ input, want string }{
		"counter":               {`45: *May  4 03:02:01: %SYS-5-CONFIG_I: Configured`, sys + ours + named + ` counter=String:"45"`},
		"two counters":          {`45: 000123: .May  4 03:02:01: %SYS-5-CONFIG_I: Configured`, sys + ours + named + ` counter=String:"45"`},
		"counter, host":         {`45: rtr1: 000123: *May  4 03:02:01: %SYS-5-CONFIG_I: Configured`, sys + `"rtr1"` + named + ` counter=String:"45"`},
		"counter, address":      {`45: 10.0.0.1: May  4 03:02:01: %SYS-5-CONFIG_I: Configured`, sys + `"10.0.0.1"` + named + ` counter=String:"45"`},
		"zone":                  {`45: May  4 03:02:01 CET: %SYS-5-CONFIG_I: Configured`, sys + ours + named + ` counter=String:"45"`},
		"year":                  {`45: *May  4 2026 03:02:01: %SYS-5-CONFIG_I: Configured`, sys + ours + named + ` counter=String:"45"`},
		"year first":            {`: 2026 May  4 03:02:01 UTC: %SYS-5-CONFIG_I: Configured`, sys + ours + named},
		"part of a switch":      {`: 2026 May  4 03:02:01 UTC: %$VDC-1%$ %SYS-5-CONFIG_I: Configured`, sys + ours + named},
		"by a relay":            {`May  4 03:02:01 10.0.0.1 45: *May  4 03:02:03.5: %SYS-5-CONFIG_I: Configured`, sys + `"10.0.0.1"` + named + ` counter=String:"45"`},
		"up for days":           {`45: 2d03h: %SYS-5-CONFIG_I: Configured`, sys[len("2026-05-04T03:02:01Z "):] + ours + named + ` counter=String:"45"`},
		"up for seconds":        {`00:00:46: %SYS-5-CONFIG_I: Configured`, sys[len("2026-05-04T03:02:01Z "):] + ours + named},
		"debugging":             {`45: *May  4 03:02:01: IP: s=10.0.0.7, len 40`, at + `syslog "IP: s=10.0.0.7, len 40" facility=String:"local7" host=String:"192.0.2.1" counter=String:"45"`},
		"router with nodes":     {`45: rtr1 RP/0/RSP0/CPU0:May  4 03:02:01 : config[658]: %MGBL-SYS-5-CONFIG_I : Configured`, at + `config "Configured" facility=String:"local7" host=String:"rtr1" procid=String:"658" msgid=String:"%MGBL-SYS-5-CONFIG_I" counter=String:"45" node=String:"RP/0/RSP0/CPU0"`},
		"node only":             {`RP/0/0/CPU0:May  4 03:02:01 UTC: config[658]: %MGBL-SYS-5-CONFIG_I : Configured`, at + `config "Configured" facility=String:"local7" host=String:"192.0.2.1" procid=String:"658" msgid=String:"%MGBL-SYS-5-CONFIG_I" node=String:"RP/0/0/CPU0"`},
		"firewall":              {`May  4 2026 03:02:01: %ASA-6-302013: Built`, at + `ASA "Built" facility=String:"local7" host=String:"192.0.2.1" msgid=String:"%ASA-6-302013"`},
		"firewall with a name":  {`May  4 2026 03:02:01 fw1 : %ASA-session-6-302013: Built`, at + `ASA-session "Built" facility=String:"local7" host=String:"fw1" msgid=String:"%ASA-session-6-302013"`},
		"firewall, no date":     {`%ASA-6-302013: Built`, `INFO+1 ASA "Built" facility=String:"local7" host=String:"192.0.2.1" msgid=String:"%ASA-6-302013"`},
		"colon and date":        {`:May  4 03:02:01 CET: %ASA-config-5-111008: User`, at + `ASA-config "User" facility=String:"local7" host=String:"192.0.2.1" msgid=String:"%ASA-config-5-111008"`},
		"fabric":                {`May  4 03:02:01 leaf1 %LOG_LOCAL7-5-SYSTEM_MSG [E42][transition] up`, at + `LOG_LOCAL7 "[E42][transition] up" facility=String:"local7" host=String:"leaf1" msgid=String:"%LOG_LOCAL7-5-SYSTEM_MSG"`},
		"no name of a message":  {`May  4 03:02:01 h app: %s-%d-x: y`, at + `app "%s-%d-x: y" facility=String:"local7" host=String:"h"`},
		"a number":              {`May  4 03:02:01 h 12345: x`, at + `syslog "12345: x" facility=String:"local7" host=String:"h"`},
		"a number alone":        {`404: not found`, `INFO+1 syslog "404: not found" facility=String:"local7" host=String:"192.0.2.1"`},
		"address as tag":        {`May  4 03:02:01 10.0.0.1: link up`, at + `syslog "link up" facility=String:"local7" host=String:"10.0.0.1"`},
		"year behind the clock": {`May  4 03:02:01 2026 10.0.0.5 stm[123]: <501> up`, at + `stm "<501> up" facility=String:"local7" host=String:"10.0.0.5" procid=String:"123"`},
		"level behind the host": {`May  4 03:02:01 lb1 info tmm[123]: Rule`, at + `tmm "Rule" facility=String:"local7" host=String:"lb1" procid=String:"123"`},
		"access point":          {`May  4 03:02:01 living 788a20f01234,UAP-AC-Lite-6.0.21+13: hostapd[3455]: ath0: joined`, at + `hostapd "ath0: joined" facility=String:"local7" host=String:"living" procid=String:"3455" device=String:"788a20f01234,UAP-AC-Lite-6.0.21+13"`},
		"switch":                {`May  4 03:02:01 10.0.0.1 00076 ports: port 1 is up`, at + `syslog "00076 ports: port 1 is up" facility=String:"local7" host=String:"10.0.0.1"`},
		"firewall of pairs":     {`date=2026-05-04 time=03:02:01 devname="FG1" level="notice"`, `INFO+1 syslog "date=2026-05-04 time=03:02:01 devname=\"FG1\" level=\"notice\"" facility=String:"local7" host=String:"192.0.2.1"`},
		"firewall of columns":   {`May  4 03:02:01 PA-220 1,2026/05/04 03:02:01,007,TRAFFIC`, at + `syslog "1,2026/05/04 03:02:01,007,TRAFFIC" facility=String:"local7" host=String:"PA-220"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			input := "<189>" + test.input + "\n"
			got := logtest.Drive(protocol(), []byte(input+"<14>h a: x\n"+input))
			if want := []string{test.want, `INFO a "x" facility=String:"user" host=String:"h"`, test.want}; !slices.Equal(got.Records, want) {
				t.Errorf("got  %s\nwant %s", got.Records, want)
			}
		})
	}
}

// A date without a year is the last one before now, or one of a clock that is ahead.
func TestDateWithoutYear(t *testing.T) {
	tests := []struct{ now, date, want string }{
		{"2026-05-04T12:00:00Z", "May  4 12:00:01", "2026-05-04T12:00:01Z"},
		{"2026-12-31T23:59:59Z", "Jan  1 00:00:02", "2027-01-01T00:00:02Z"}, // a clock that is ahead
		{"2027-01-01T00:00:02Z", "Dec 31 23:59:59", "2026-12-31T23:59:59Z"}, // one that is late
		{"2027-01-02T00:00:00Z", "Jan  5 00:00:00", "2027-01-05T00:00:00Z"},
		{"2024-03-01T00:00:00Z", "Feb 29 10:00:00", "2024-02-29T10:00:00Z"},
		{"2025-01-10T00:00:00Z", "Feb 29 10:00:00", "2024-02-29T10:00:00Z"}, // of the only year that had one
		{"2026-05-04T12:00:00Z", "Jun  2 00:00:00", "2026-06-02T00:00:00Z"},
		{"2026-05-04T12:00:00Z", "Jul  2 00:00:00", "2025-07-02T00:00:00Z"},
	}
	for _, test := range tests {
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		want := test.want + ` INFO a "x" facility=String:"user" host=String:"h"`
		if got := logtest.Drive(wayAt(now), []byte("<14>"+test.date+" h a: x\n")); !slices.Equal(got.Records, []string{want}) {
			t.Errorf("%s at %s: got %s, want %s", test.date, test.now, got.Records, want)
		}
	}
}

// A long-lived connection reads the same date in a later year as one of that year.
func TestDateOfALongConnection(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	w := &Protocol{Location: time.UTC, now: func() time.Time { return at }}
	p := w.Parser("", nil)
	var recorder logtest.Recorder
	for range 3 {
		p.Parse([]byte("<14>May  4 12:00:00 h a: x\n"), &recorder)
		at = at.AddDate(1, 0, 0)
	}
	for i, record := range recorder.Added() {
		if got, want := record.Time.Year(), 2026+i; got != want {
			t.Errorf("record %d is of %d, want %d", i, got, want)
		}
	}
}

// Dates without a zone are in the zone of the protocol's location.
func TestLocation(t *testing.T) {
	w := wayAt(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
	w.Location = time.FixedZone("", 2*3600)
	for _, date := range []string{"May  4 14:00:00", "May  4 2026 14:00:00"} {
		want := `2026-05-04T12:00:00Z INFO a "x" facility=String:"user" host=String:"h"`
		if got := logtest.Drive(w, []byte("<14>"+date+" h a: x\n")); !slices.Equal(got.Records, []string{want}) {
			t.Errorf("got %s, want %s", got.Records, want)
		}
	}
}

// Parameters beyond the bound are counted, so that none is missing unnoticed.
func TestManyParameters(t *testing.T) {
	text := "<14>1 - h app - - [a]"
	for i := range 299 {
		text += fmt.Sprintf("[b x%d=\"1\" y=\"2\"]", i+1)
	}
	got := logtest.Drive(&Protocol{Datagrams: true}, []byte(text+" hi"))
	if len(got.Records) != 1 || !strings.HasSuffix(got.Records[0], " b.x128=String:\"1\" logs.attributes_left_out=Int64:\"343\"") {
		t.Errorf("got %q", got.Records)
	}
}
