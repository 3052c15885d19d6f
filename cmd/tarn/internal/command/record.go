package command

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/cmd/tarn/internal/printer"
	"github.com/tarn-dev/tarn/object"
)

// base is what the metadata of an object tell.
func base(r *watched, obj *object.Object, now time.Time) printer.Record {
	rec := printer.Record{
		Time: now, Resource: r.mapping.String(), Short: r.short, Kind: r.mapping.Kind.Kind,
		Namespace: obj.Namespace(), Name: obj.Name(), UID: obj.UID, NewVersion: obj.Version,
	}
	if obj.Created != 0 {
		rec.Created = time.Unix(obj.Created, 0)
	}
	return rec
}

// record returns an event for printing.
func record(r *watched, e tarn.Event[value], now time.Time) printer.Record {
	rec := base(r, e.Object(), now)
	rec.Missed = e.FinalStateUnknown
	v, err := e.New()
	if err == nil {
		rec.New = v.Object
	}
	switch {
	case e.Initial:
		rec.Type = printer.Present
	case e.Type == tarn.Added:
		rec.Type = printer.Added
	case e.Type == tarn.Deleted:
		rec.Type = printer.Deleted
	default:
		rec.Type = printer.Updated
	}
	if before := e.Before(); before != nil {
		rec.OldVersion = before.Version
		old, oldErr := e.Old()
		if oldErr == nil {
			rec.Old = old.Object
		}
		err = cmp.Or(err, oldErr)
	}
	rec.Err = err
	return rec
}

// state returns an object as it stands for printing.
func state(r *watched, obj *object.Object, v any, err error, now time.Time) printer.Record {
	rec := base(r, obj, now)
	rec.Type, rec.Err = printer.Present, err
	if err == nil {
		u, ok := v.(value)
		if !ok {
			rec.Err = fmt.Errorf("decoded to %T", v)
			return rec
		}
		rec.New = u.Object
	}
	return rec
}
