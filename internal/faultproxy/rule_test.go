package faultproxy_test

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/tarn-dev/tarn/internal/faultproxy"
)

func TestRule_Answer(t *testing.T) {
	// A rule answers the requests that it matches, as often as it says; the rest goes to the server.
	const list, next, watch, stream = "", "continue=x", "watch=true", "watch=true&sendInitialEvents=true"
	tests := map[string]struct {
		match   func(faultproxy.Request) bool
		answer  http.HandlerFunc
		matches string
		other   string
		code    int
		body    string
	}{
		"throttled":    {faultproxy.Lists("pods"), faultproxy.Throttled(3), list, "", 429, `"retryAfterSeconds":3`},
		"first page":   {faultproxy.FirstPages("pods"), faultproxy.Expired(), list, next, 410, `"reason":"Expired"`},
		"next page":    {faultproxy.NextPages("pods"), faultproxy.Expired(), next, list, 410, `"reason":"Expired"`},
		"forbidden":    {faultproxy.Lists(""), faultproxy.Forbidden(), next, "", 403, `"reason":"Forbidden"`},
		"watch":        {faultproxy.Watches("pods"), faultproxy.EmptyWatch(), watch, list, 200, ""},
		"stream":       {faultproxy.StreamingLists("pods"), faultproxy.Expired(), stream, list, 410, "Expired"},
		"version":      {faultproxy.At("7", faultproxy.Lists("")), faultproxy.Expired(), "resourceVersion=7", list, 410, "Expired"},
		"other":        {faultproxy.Lists("nodes"), faultproxy.Expired(), "", list, 0, ""},
		"table":        {faultproxy.Lists("pods"), faultproxy.Table(), list, "", 200, `"kind":"Table"`},
		"table event":  {faultproxy.Watches("pods"), faultproxy.Table(), watch, list, 200, `"type":"ADDED"`},
		"cause type":   {nil, faultproxy.TooLarge(faultproxy.CauseType), list, "", 504, `"reason":"ResourceVersionTooLarge"`},
		"cause text":   {nil, faultproxy.TooLarge(faultproxy.CauseMessage), list, "", 504, `"causes":[{"message":"Too large`},
		"message text": {nil, faultproxy.TooLarge(faultproxy.MessageText), list, "", 504, `"message":"Timeout: Too large`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, c := start(t, faultproxy.Options{})
			rule := p.Add(faultproxy.Rule{Match: test.match, Times: 1, Answer: test.answer})
			if code, body, err := c.body(test.other); test.other != "" && (err != nil || code != 200 || !strings.HasPrefix(body, "LIST")) {
				t.Errorf("%q: %d %q %v", test.other, code, body, err)
			}
			if test.code == 0 {
				return
			}
			if test.other == "" {
				rule.Remove()
				rule = p.Add(faultproxy.Rule{Match: test.match, Times: 1, Answer: test.answer})
			}
			code, body, err := c.body(test.matches)
			if err != nil || code != test.code || !strings.Contains(body, test.body) {
				t.Errorf("%q: %d %q %v", test.matches, code, body, err)
			}
			if err := rule.Wait(t.Context(), 1); err != nil || rule.Hits() != 1 {
				t.Errorf("hits %d, %v", rule.Hits(), err)
			}
			if code, body, err := c.body(list); err != nil || code != 200 || !strings.HasPrefix(body, "LIST") {
				t.Errorf("used up: %d %q %v", code, body, err)
			}
		})
	}
}

func TestRule_Remove(t *testing.T) {
	// A rule without Times stays until it is removed; 429 has its Retry-After header.
	p, c := start(t, faultproxy.Options{})
	rule := p.Add(faultproxy.Rule{Answer: faultproxy.Throttled(3)})
	for range 3 {
		resp, err := c.get("", "")
		if err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3" {
			t.Errorf("got %v, %v", resp, err)
		}
	}
	rule.Remove()
	if code, _, _ := c.body(""); code != 200 {
		t.Errorf("got %d", code)
	}
}

func TestRule_Watch(t *testing.T) {
	// Watch streams are ended, cut, stripped of the end bookmark, and given an ERROR event.
	internal := faultproxy.InternalStatus("no leader")
	one, two := `{"type":"ADDED","n":1}`+"\n", `{"type":"ADDED","n":2}`+"\n"
	tests := map[string]struct {
		rule   faultproxy.Rule
		want   string // what comes, to the end, or its beginning
		broken bool   // it does not end normally
	}{
		"end":            {faultproxy.Rule{EndAfterEvents: 2}, one + bookmarkEnd + "\n", false},
		"cut":            {faultproxy.Rule{CutAfterBytes: 10}, one[:10], true},
		"drop":           {faultproxy.Rule{DropEndBookmark: true, EndAfterEvents: 2}, one + two, false},
		"drop and cut":   {faultproxy.Rule{DropEndBookmark: true, CutAfterBytes: int64(len(one) + 3)}, one + two[:3], true},
		"inject":         {faultproxy.Rule{Inject: &internal}, `{"object":{"kind":"Status","apiVersion":"v1",`, false},
		"inject after 1": {faultproxy.Rule{Inject: &internal, InjectAfter: 1}, one + `{"object":{"kind":"Status"`, false},
	}
	modes(t, func(t *testing.T, p *faultproxy.Proxy, c *client) {
		for name, test := range tests {
			test.rule.Times = 1
			p.Add(test.rule)
			_, body, err := c.body("watch=true")
			if test.rule.Inject != nil {
				var last struct {
					Type   string
					Object metav1.Status
				}
				lines := strings.Split(strings.TrimSpace(body), "\n")
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
					t.Error(err)
				}
				if last.Type != "ERROR" || last.Object.Code != 500 || last.Object.Message != "no leader" {
					t.Errorf("%s: %+v", name, last)
				}
				body = body[:len(test.want)]
			}
			if body != test.want || (err != nil) != test.broken {
				t.Errorf("%s: %q, %v; want %q", name, body, err, test.want)
			}
		}
	})
}

func TestRule_WatchProtobuf(t *testing.T) {
	// The same in protobuf: frames are passed on whole, and the ERROR event is one that a client can decode.
	p, c := start(t, faultproxy.Options{})
	expired := faultproxy.ExpiredStatus()
	p.Add(faultproxy.Rule{DropEndBookmark: true, Inject: &expired, InjectAfter: 2})
	resp, err := c.get("watch=true", protobufWatch)
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for {
		var size uint32
		if err := binary.Read(resp.Body, binary.BigEndian, &size); err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(resp.Body, frame); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	if len(frames) != 3 || string(frames[0]) != `{"type":"ADDED","n":1}` || string(frames[1]) != `{"type":"ADDED","n":2}` {
		t.Fatalf("frames %q", frames)
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(frames[2]); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	object, _, err := protobuf.NewSerializer(scheme, scheme).Decode(event.Object.Raw, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := object.(*metav1.Status); !ok || event.Type != "ERROR" || s.Code != http.StatusGone || s.Reason != metav1.StatusReasonExpired {
		t.Errorf("event %s %+v", event.Type, object)
	}
}
