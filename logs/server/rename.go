package server

import (
	"log/slog"
	"slices"

	"github.com/meanwhile-go/meanwhile/internal/cut"
	"github.com/meanwhile-go/meanwhile/logs"
)

const maxFromService = 256 // bytes

// rename sets the service that a record is stored under, and adds its original name as the attribute from_service, unless that is empty.
func rename(v *logs.View, service string) {
	if len(v.Service) > 0 && len(v.Message)+len(v.Task)+len(v.Job)+len(v.EncodedAttrs()) < logs.MaxRecord-mostAdded {
		v.SetEncodedAttrs(slices.Clip(v.EncodedAttrs())) // other records may follow in the buffer
		v.AddAttr(slog.String(logs.FromService, string(cut.Prefix(v.Service, maxFromService))))
	}
	v.Service = []byte(service)
}
