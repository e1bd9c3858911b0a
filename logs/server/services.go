package server

import (
	"context"
	"sync/atomic"
	"time"
)

// Names of services come from clients, so a server bounds how many services it keeps apart, and how many files it writes that are named
// after them. Records of further services are stored under one name.
const (
	mostServices = 10_000
	mostFiles    = 1_000

	// OtherServices is the service of records whose own service is beyond a server's maximum. Their attribute from_service is the
	// original name.
	OtherServices = "others"

	silentService = 24 * time.Hour // without a record, after which a service may be forgotten
	crowdedScan   = time.Minute
)

// serviceCounts counts the records of one service.
type serviceCounts struct {
	records, bytes, cut, limited atomic.Int64
	lastSeen                     atomic.Int64 // the time of the newest records; 0: none since the server began
}

// countsOf returns the name that the records of a service are kept under, and their counts.
func (s *Server) countsOf(service string) (name string, c *serviceCounts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.services[service]; c != nil {
		return service, c
	}
	if len(s.services) > mostServices { // one is for the others
		if !s.crowded {
			s.crowded = true
			s.logger.Warn("logs: there are too many services to keep them apart; records of further ones are kept as those of one", "services", mostServices, "service", OtherServices)
		}
		return OtherServices, s.services[OtherServices]
	}
	c = &serviceCounts{}
	s.services[service] = c
	return service, c
}

// loadStored registers the services of which the store has records, so that they count towards the maximum.
func (s *Server) loadStored(ctx context.Context) {
	stored, err := s.stored(ctx)
	if err != nil {
		s.logger.Error("logs: the store does not tell its services; others are kept apart beside them", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for service := range stored {
		if s.services[service] == nil {
			s.services[service] = &serviceCounts{}
		}
	}
}

// stored returns the services that the store has records of.
func (s *Server) stored(ctx context.Context) (map[string]bool, error) {
	if s.config.Store == nil {
		return nil, nil
	}
	all, err := s.config.Store.Services(ctx)
	stored := make(map[string]bool)
	for i := range all {
		if all[i].Records > 0 {
			stored[all[i].Service] = true
		}
	}
	return stored, err
}

// forgetServices forgets services when there are too many: those without a record for silentService of which the store has none either.
// If there are records of one again, it is a new service.
func (s *Server) forgetServices(ctx context.Context) {
	now := time.Now()
	s.mu.Lock()
	due := s.crowded && now.Sub(s.scanned) >= crowdedScan
	if due {
		s.scanned = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	stored, err := s.stored(ctx)
	if err != nil {
		return // its output reports it
	}
	r := s.routing.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outputs.mu.Lock()
	defer s.outputs.mu.Unlock()
	for service, c := range s.services {
		if service == OtherServices || stored[service] || now.Sub(time.Unix(0, c.lastSeen.Load())) < silentService {
			continue
		}
		delete(s.services, service)
		delete(r.services, service)
		for _, dedupe := range []bool{false, true} {
			delete(s.outputs.keys, bufferKey{store: s.outputs.store, service: service, dedupe: dedupe})
		}
	}
	s.crowded = len(s.services) > mostServices
}
