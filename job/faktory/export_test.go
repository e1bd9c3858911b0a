package faktory

// LimitConnections has a server take fewer connections than MaxConnections.
func (s *Server) LimitConnections(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = n
}
