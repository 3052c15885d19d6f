package kube_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ensures that refusals of the server come out as the API's typed errors, whatever their encoding, and are not retried.
func TestSource_List_Refused(t *testing.T) {
	refusal := func(code int32, reason metav1.StatusReason, details *metav1.StatusDetails) metav1.Status {
		return metav1.Status{Status: "Failure", Code: code, Reason: reason, Message: "no", Details: details}
	}
	for _, c := range []struct {
		name string
		s    metav1.Status
		is   func(error) bool
	}{
		{"forbidden", refusal(403, metav1.StatusReasonForbidden, nil), apierrors.IsForbidden},
		{"unauthorized", refusal(401, metav1.StatusReasonUnauthorized, nil), apierrors.IsUnauthorized},
		{"not found", refusal(404, metav1.StatusReasonNotFound, nil), apierrors.IsNotFound},
		{"expired", refusal(410, metav1.StatusReasonExpired, nil), apierrors.IsResourceExpired},
		{"gone", refusal(410, metav1.StatusReasonGone, nil), apierrors.IsGone},
		{"invalid", refusal(422, metav1.StatusReasonInvalid, nil), apierrors.IsInvalid},
		{"internal", refusal(500, metav1.StatusReasonInternalError, nil), apierrors.IsInternalError},
		{
			"too large", refusal(504, metav1.StatusReasonTimeout, &metav1.StatusDetails{
				Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}, RetryAfterSeconds: 1,
			}),
			func(err error) bool {
				return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
			},
		},
	} {
		for _, media := range []string{protobufMedia, jsonMedia} {
			requests := 0
			serve := serveBytes(int(c.s.Code), media, status(t, media, c.s))
			src := newSource(t, startServer(t, func(w http.ResponseWriter, r *http.Request) { requests++; serve(w, r) }), typedPods)
			_, err := src.List(context.Background(), metav1.ListOptions{})
			_, watchErr := src.Watch(context.Background(), metav1.ListOptions{})
			if !c.is(err) || !c.is(watchErr) || requests != 2 {
				t.Errorf("%s as %s: List %v, Watch %v, %d requests", c.name, media, err, watchErr, requests)
			}
		}
	}
}

// Ensures that Retry-After arrives in the error, from the header or the body, and that nobody waits for it here.
func TestSource_List_RetryAfter(t *testing.T) {
	told := status(t, jsonMedia, metav1.Status{
		Status: "Failure", Code: 429, Reason: metav1.StatusReasonTooManyRequests, Details: &metav1.StatusDetails{RetryAfterSeconds: 9},
	})
	for _, c := range []struct {
		code              int
		contentType, body string
		want              int
	}{
		{429, jsonMedia, string(told), 9},
		{429, jsonMedia, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,"reason":"TooManyRequests"}`, 17},
		{429, "text/plain", "Too many requests, please try again later.", 17},
		{503, "text/plain", "starting", 17},
	} {
		requests := 0
		serve := serveBytes(c.code, c.contentType, []byte(c.body))
		src := newSource(t, startServer(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Retry-After", "17")
			serve(w, r)
		}), typedPods)
		_, err := src.List(context.Background(), metav1.ListOptions{})
		var se *apierrors.StatusError
		if !errors.As(err, &se) || int(se.ErrStatus.Code) != c.code || se.ErrStatus.Details == nil ||
			int(se.ErrStatus.Details.RetryAfterSeconds) != c.want || requests != 1 {
			t.Errorf("%d %s: %#v after %d requests, want %d seconds", c.code, c.body, err, requests, c.want)
		}
	}
}

// Ensures that a proxy's page becomes one line that says so, and keeps the status code's meaning.
func TestSource_List_ProxyPage(t *testing.T) {
	page := "<!DOCTYPE html><html><head><title>502 Bad\n Gateway</title></head><body>" + strings.Repeat("x", 5000) + "</body></html>"
	src := newSource(t, startServer(t, serveBytes(502, "text/html", []byte(page))), typedPods)
	_, err := src.List(context.Background(), metav1.ListOptions{})
	want := `502 Bad Gateway: a web page ("502 Bad Gateway") instead of an answer from the Kubernetes API: is there a proxy in between?`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	src = newSource(t, startServer(t, serveBytes(403, "text/html", []byte("<p>no</p>"))), typedPods)
	if _, err = src.List(context.Background(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || len(err.Error()) > 300 {
		t.Errorf("403 page: %v", err)
	}
}
