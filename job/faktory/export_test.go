package faktory

// LimitConnections makes a server accept fewer connections than MaxConnections.
func (s *Server) LimitConnections(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = n
}
