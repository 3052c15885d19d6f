package kube

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refine completes the error of a refused request. Status bodies have become *apierrors.StatusError by now, in both
// encodings; what is left is what a Status does not say itself, and answers that are none.
func refine(err error, head http.Header) error {
	var se *apierrors.StatusError
	if !errors.As(err, &se) || head == nil {
		return err
	}
	status := *se.ErrStatus.DeepCopy()
	if status.Details == nil {
		status.Details = &metav1.StatusDetails{}
	}
	if s, convErr := strconv.ParseInt(head.Get("Retry-After"), 10, 32); convErr == nil && status.Details.RetryAfterSeconds == 0 {
		status.Details.RetryAfterSeconds = int32(s)
	}
	for i, cause := range status.Details.Causes {
		media, _, _ := mime.ParseMediaType(head.Get("Content-Type"))
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse && media == "text/html" {
			status.Details.Causes[i].Message = pageTitle(cause.Message)
			status.Message = fmt.Sprintf("%d %s: a web page (%q) instead of an answer from the Kubernetes API: is there a proxy in between?",
				status.Code, http.StatusText(int(status.Code)), pageTitle(cause.Message))
		}
	}
	return &apierrors.StatusError{ErrStatus: status}
}

var title = regexp.MustCompile(`(?is)<(?:title|h1)[^>]*>(.*?)<`)

// pageTitle returns the title of an HTML page, or how the page starts.
func pageTitle(page string) string {
	text := page
	if m := title.FindStringSubmatch(page); m != nil {
		text = m[1]
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 100 {
		text = string(r[:100]) + "..."
	}
	return text
}
