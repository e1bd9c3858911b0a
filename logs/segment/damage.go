package segment

// maxDamages bounds the number of reported places that are remembered.
const maxDamages = 1000

// damage reports and counts a place that cannot be read and is left out, once.
func (s *Store) damage(svc *service, path string, off, bytes int64) {
	s.mu.Lock()
	at := damage{path, off}
	_, known := svc.found[at]
	if !known && len(svc.found) < maxDamages {
		if svc.found == nil {
			svc.found = make(map[damage]struct{})
		}
		svc.found[at] = struct{}{}
		svc.damaged += bytes
	}
	known = known || len(svc.found) >= maxDamages
	s.mu.Unlock()
	if !known {
		s.log().Error("a part of a file is damaged, and is left out", "service", svc.name, "file", path, "at", off, "bytes", bytes)
	}
}
