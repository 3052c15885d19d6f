package serve

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

type jsonFormat struct {
	w       io.Writer
	kind    schema.GroupVersionKind
	scratch []byte
	items   int
}

func newJSONFormat(w io.Writer, kind schema.GroupVersionKind) *jsonFormat {
	return &jsonFormat{w: w, kind: kind, scratch: make([]byte, 0, digits)}
}

func (f *jsonFormat) contentType(bool) string { return "application/json" }

func (f *jsonFormat) list(version uint64, token string, remaining int, _ []item) {
	f.items = 0
	fmt.Fprintf(f.w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%s"`, f.kind.Kind, f.kind.GroupVersion().String(), versionText(version))
	if token != "" {
		fmt.Fprintf(f.w, `,"continue":%q,"remainingItemCount":%d`, token, remaining)
	}
	io.WriteString(f.w, `},"items":[`)
}

func (f *jsonFormat) item(it item) {
	if f.items++; f.items > 1 {
		io.WriteString(f.w, ",")
	}
	f.scratch = writeItem(f.w, jsonText, it, f.scratch)
}

func (f *jsonFormat) end() { io.WriteString(f.w, "]}\n") }

func (f *jsonFormat) frame(typ string, it item) {
	io.WriteString(f.w, `{"type":"`)
	io.WriteString(f.w, typ)
	io.WriteString(f.w, `","object":`)
	f.scratch = writeItem(f.w, jsonText, it, f.scratch)
	io.WriteString(f.w, "}\n")
}

func (f *jsonFormat) expire() {
	io.WriteString(f.w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"too old resource version","reason":"Expired","code":410}}`+"\n")
}
