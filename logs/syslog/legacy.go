package syslog

// legacy reads what follows the priority of a message of RFC 3164, "date host tag[process]: text", of which each part may
// be missing. A word counts as the tag when a colon or the process ends it, so that no first word of a text makes a
// service.
func (p *parser) legacy(text []byte, facility int) {
	v := &p.view
	stamp, text := p.cutDate(text)
	v.Time = stamp
	if rest, known := p.header.cut(v, text, false, facility); known {
		v.Message = trimMark(rest)
		return
	}
	begin, host := text, p.origin
	tag, process, rest, ok := cutTag(text)
	if !ok {
		if word, after, found := cutHost(text); found {
			tag, process, rest, ok = cutTag(after)
			if ok || stamp != 0 { // without either, the word belongs to the text
				host, text = word, after
			}
		}
	}
	v.Service = tag
	p.attr(keyFacility, facilities[facility])
	p.attr(keyHost, host)
	p.attr(keyProcess, process)
	if ok {
		text = rest
		p.header.keep(v, begin[:len(begin)-len(rest)], false, facility)
	}
	v.Message = trimMark(text)
}

// maxTag is how long a word is that counts as a tag, in bytes, and so is its process ID. RFC 3164 has 32.
const maxTag = 1 << 10

// cutTag cuts "tag:", "tag[process]:" or "tag[process]" off, and a space that follows it.
func cutTag(text []byte) (tag, process, rest []byte, ok bool) {
	i := 0
	for i < len(text) && i <= maxTag && text[i] > ' ' && text[i] != ':' && text[i] != '[' && text[i] != '<' {
		i++
	}
	if i == 0 || i == len(text) || i > maxTag {
		return nil, nil, nil, false
	}
	tag, rest = text[:i], text[i:]
	if rest[0] == '[' {
		end := 1
		for end < len(rest) && rest[end] != ']' {
			if rest[end] <= ' ' || rest[end] == '[' || end > maxTag {
				return nil, nil, nil, false
			}
			end++
		}
		if end == len(rest) {
			return nil, nil, nil, false
		}
		process, rest = rest[1:end], rest[end+1:]
		if len(rest) > 0 && rest[0] == ':' {
			rest = rest[1:]
		}
	} else if rest[0] != ':' {
		return nil, nil, nil, false
	} else {
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
	case rest[0] == ' ':
		rest = rest[1:]
	case process == nil: // "10:15", "http://…"
		return nil, nil, nil, false
	}
	return tag, process, rest, true
}

// cutHost cuts a word off that may name a host, and the space that follows it.
func cutHost(text []byte) (host, rest []byte, ok bool) {
	for i, c := range text[:min(len(text), 256)] {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_', c == ':', c == '%':
		case c == ' ' && i > 0:
			return text[:i], text[i+1:], true
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}
