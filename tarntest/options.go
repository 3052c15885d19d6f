package tarntest

import (
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/tarn-dev/tarn/object"
)

// errClosed is what Next returns after Close.
var errClosed = errors.New("tarntest: read after Close")

// tooLarge is the server's answer to a version that it has not reached.
func tooLarge(version, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

// expired is the server's answer to a version that is compacted away: 410.
func expired(format string, args ...any) error {
	return apierrors.NewResourceExpired(fmt.Sprintf(format, args...))
}

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// parseVersion returns 0 for "" and "0".
func parseVersion(version string) (uint64, error) {
	if version == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, badRequest("invalid resource version %q", version)
	}
	return v, nil
}

// refuse collects what is wrong with the options of a request.
type refuse struct{ errs field.ErrorList }

func (r *refuse) forbid(when bool, name, detail string) {
	if when {
		r.errs = append(r.errs, field.Forbidden(field.NewPath(name), detail))
	}
}

func (r *refuse) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", r.errs)
}

func validateList(o metav1.ListOptions) error {
	var r refuse
	match := o.ResourceVersionMatch
	r.forbid(o.SendInitialEvents != nil, "sendInitialEvents", "a list has no initial events")
	r.forbid(match != "" && o.ResourceVersion == "", "resourceVersionMatch", "needs a resourceVersion")
	r.forbid(match != "" && o.Continue != "", "resourceVersionMatch", "does not go with continue")
	r.forbid(match == metav1.ResourceVersionMatchExact && o.ResourceVersion == "0", "resourceVersionMatch",
		`nothing is exactly at version "0"`)
	r.forbid(match != "" && match != metav1.ResourceVersionMatchExact && match != metav1.ResourceVersionMatchNotOlderThan,
		"resourceVersionMatch", "is neither Exact nor NotOlderThan")
	if err := r.err(); err != nil {
		return err
	}
	if o.Continue != "" && o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return badRequest("a resource version does not go with continue")
	}
	return nil
}

func (s *Source) validateWatch(o metav1.ListOptions) error {
	var r refuse
	match, initial := o.ResourceVersionMatch, o.SendInitialEvents != nil
	r.forbid(initial && match != metav1.ResourceVersionMatchNotOlderThan, "resourceVersionMatch",
		"must be NotOlderThan where sendInitialEvents is set")
	r.forbid(initial && !s.streaming, "sendInitialEvents", "the WatchList feature is switched off")
	r.forbid(!initial && match != "", "resourceVersionMatch", "needs sendInitialEvents in a watch")
	return r.err()
}

// selector is what a request selects by.
type selector struct {
	labels labels.Selector
	fields fields.Selector
}

func parseSelector(o metav1.ListOptions) (sel selector, err error) {
	if sel.labels, err = labels.Parse(o.LabelSelector); err != nil {
		return sel, badRequest("unable to parse label selector %q: %v", o.LabelSelector, err)
	}
	if sel.fields, err = fields.ParseSelector(o.FieldSelector); err != nil {
		return sel, badRequest("unable to parse field selector %q: %v", o.FieldSelector, err)
	}
	for _, r := range sel.fields.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return sel, badRequest("field label not supported: %s", r.Field)
		}
	}
	return sel, nil
}

func (s selector) everything() bool { return s.labels.Empty() && s.fields.Empty() }

func (s selector) matches(o *object.Object) bool {
	namespace, name := object.SplitKey(o.Key)
	return s.labels.Matches(o.Labels) &&
		s.fields.Matches(fields.Set{"metadata.name": name, "metadata.namespace": namespace})
}
