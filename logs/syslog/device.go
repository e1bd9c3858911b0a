package syslog

import (
	"bytes"
	"time"
)

// A device is what routers, switches and firewalls write before a message, in an order of their own:
//
//	45: rtr1: 000123: *Nov 22 10:00:00.123 UTC: %SYS-5-CONFIG_I: Configured
//	1234: RP/0/RSP0/CPU0:Nov 22 10:00:00.123 : config[65823]: %MGBL-SYS-5-CONFIG_I : Configured
//	: 2026 Nov 22 10:00:00 UTC: %ETHPORT-5-IF_UP: Interface is up
//	Nov 22 2026 10:00:00 fw1 : %ASA-6-302013: Built
//
// A counter would make each message a service. The service is the process, or else the facility of the message's name.
type device struct {
	text     []byte // what is left
	stamp    int64
	dated    bool // a date was the last thing that was cut
	counter  []byte
	host     []byte
	node     []byte
	service  []byte
	process  []byte
	name     []byte // %SYS-5-CONFIG_I
	facility []byte // SYS

	unnamed     []byte // what follows the counter and the date: the message, when it has no name
	unnamedHost []byte // the host before them
}

const (
	maxDeviceParts = 8
	maxDeviceHead  = 160 // bytes in which the name of a message is looked for
)

// device reads a message of a device, and reports whether it is one. Its date may have been cut off.
func (p *parser) device(text []byte, stamp int64, facility int) bool {
	if len(text) == 0 || text[0]-'0' > 9 && text[0] != ':' && bytes.IndexByte(text[:min(len(text), maxDeviceHead)], '%') < 0 {
		return false
	}
	d := device{text: text, stamp: stamp, dated: stamp != 0}
	for range maxDeviceParts {
		d.text = bytes.TrimLeft(d.text, " :")
		if d.cutName() || !d.cutPart(p) {
			break
		}
	}
	if d.name == nil {
		if d.unnamed == nil {
			return false
		}
		d.text, d.host, d.service, d.process = d.unnamed, d.unnamedHost, unnamed, nil
	}
	v := &p.view
	v.Time, v.Message, v.Service = d.stamp, trimMark(d.text), d.service
	if d.service == nil {
		v.Service = d.facility
	}
	if d.host == nil {
		d.host = p.origin
	}
	p.attr(keyFacility, facilities[facility])
	p.attr(keyHost, d.host)
	p.attr(keyProcess, d.process)
	p.attr(keyMessage, d.name)
	p.attr(keyCounter, d.counter)
	p.attr(keyNode, d.node)
	return true
}

// cutPart cuts off one of the parts before the name.
func (d *device) cutPart(p *parser) bool {
	dated := d.dated
	d.dated = false
	if dated && d.cutZone(p.location) {
		return true
	}
	if d.cutDate(p) || d.cutCounter() {
		return true
	}
	if tag, process, rest, ok := cutTag(d.text); ok && process != nil && d.service == nil {
		d.service, d.process, d.text = tag, process, rest
		return true
	}
	return d.cutHost()
}

// cutName cuts the name of the message, and what separates it from the text.
func (d *device) cutName() bool {
	text := d.text
	if bytes.HasPrefix(text, []byte("%$")) { // %$VDC-1%$, the part of a switch
		if end := bytes.Index(text[2:], []byte("%$ ")); end >= 0 {
			text = text[end+5:]
		}
	}
	if len(text) == 0 || text[0] != '%' {
		return false
	}
	end := 1
	for end < len(text) && (isWord(text[end]) || text[end] == '-') {
		end++
	}
	mnemonic := bytes.LastIndexByte(text[:end], '-')
	if end == len(text) || text[end] != ':' && text[end] != ' ' || mnemonic < 4 || mnemonic+1 == end ||
		text[mnemonic-2] != '-' || text[mnemonic-1]-'0' > 7 {
		return false
	}
	d.name, d.facility = text[:end], text[1:mnemonic-2]
	rest := bytes.TrimPrefix(text[end:], []byte(" "))
	d.text = bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte(":")), []byte(" "))
	return true
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// cutDate cuts a date, which the node of a router may precede. The first one counts.
func (d *device) cutDate(p *parser) bool {
	text := d.text
	if i := bytes.IndexByte(text[:min(len(text), 64)], ':'); i > 0 && bytes.IndexByte(text[:i], '/') > 0 && bytes.IndexByte(text[:i], ' ') < 0 {
		if at, rest := p.cutDate(text[i+1:]); at != 0 {
			d.node = text[:i]
			return d.date(at, rest)
		}
	}
	if at, rest := p.cutDate(text); at != 0 {
		return d.date(at, rest)
	}
	if len(text) > 20 && text[4] == ' ' && text[8] == ' ' && text[11] == ' ' { // 2026 Nov 22 10:00:00
		swapped := append(append(append(p.scratch[:0], text[5:12]...), text[:5]...), text[12:min(len(text), 48)]...)
		p.scratch = swapped
		if at, rest := p.cutDate(swapped); at != 0 {
			return d.date(at, text[len(swapped)-len(rest):])
		}
	}
	return false
}

func (d *device) date(at int64, rest []byte) bool {
	if d.stamp == 0 {
		d.stamp, d.dated = at, true
	}
	if d.text = rest; d.counter != nil && d.unnamed == nil {
		d.unnamed, d.unnamedHost = rest, d.host
	}
	return true
}

// cutZone cuts the name of a time zone that follows a date. UTC is the only one whose name is of one zone alone.
func (d *device) cutZone(location *time.Location) bool {
	end := 0
	for end < min(len(d.text), 5) && 'A' <= d.text[end] && d.text[end] <= 'Z' {
		end++
	}
	if end < 2 || end == len(d.text) || d.text[end] != ':' {
		return false
	}
	if zone := string(d.text[:end]); zone == "UTC" || zone == "GMT" {
		_, offset := time.Unix(0, d.stamp).In(location).Zone()
		d.stamp += int64(offset) * 1e9
	}
	d.text = d.text[end:]
	return true
}

// cutCounter cuts "45:", a counter, or "1w2d:" and "00:00:46:", for how long the device has run.
func (d *device) cutCounter() bool {
	end := bytes.Index(d.text[:min(len(d.text), 24)], []byte(": "))
	if end <= 0 || d.text[0]-'0' > 9 || isAddress(d.text[:end]) || len(bytes.Trim(d.text[:end], "0123456789ywdhms:.")) > 0 {
		return false
	}
	if d.counter == nil && isNumber(d.text[:end]) {
		d.counter = d.text[:end]
	}
	d.text = d.text[end:]
	return true
}

// cutHost cuts off a host that a space or a colon follows. Without a counter before it, a word with a colon would be a tag.
func (d *device) cutHost() bool {
	if d.host != nil {
		return false
	}
	host, rest, ok := cutHost(d.text)
	if !ok {
		return false
	}
	if short := bytes.TrimSuffix(host, []byte(":")); len(short) < len(host) {
		if d.counter == nil && !isAddress(short) {
			return false
		}
		host = short
	}
	d.host, d.text = host, rest
	return true
}

// isNumber reports whether a word is of digits alone: no program has such a name.
func isNumber(word []byte) bool {
	for _, c := range word {
		if c-'0' > 9 {
			return false
		}
	}
	return len(word) > 0
}

// isAddress reports whether a word looks like an address of IPv4.
func isAddress(word []byte) bool {
	return bytes.Count(word, []byte(".")) == 3 && len(bytes.Trim(word, "0123456789.")) == 0
}
