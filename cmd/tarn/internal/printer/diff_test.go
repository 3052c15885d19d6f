package printer_test

import (
	"testing"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/printer"
)

// Ensures that the diff shows each changed field with both values, what is nested as YAML, and long texts line by line.
func TestDiff_Print(t *testing.T) {
	r := pod(t, printer.Updated, "web-1",
		`{"data":{"c":"a\nb\nc\nd\ne\nf\n"},"spec":{"x":1},"l":[{"name":"a"},{"name":"b"}],"old":{"k":"v"}}`,
		`{"data":{"c":"a\nb\nc\nD\ne\nf\n"},"spec":{"x":2,"y":[{"name":"n","v":{"z":"1"}}],"e":{}},"l":[{"name":"b"},{"name":"a"}]}`)
	r.Resource, r.Kind = "deployments.apps", "Deployment"
	expect(t, printed(t, "diff", printer.Options{}, r, records(t)[0], records(t)[2]), `
~ deployment.apps/web-1 in prod  12:30:05 updated, age 60m, version 11 → 12
    data.c:
      b
      c
-     d
+     D
      e
      f
-   l (order): ["a","b"]
+   l (order): ["b","a"]
-   old:
-     k: v
+   spec.e: {}
-   spec.x: 1
+   spec.x: 2
+   spec.y:
+     - name: "n"
+       v:
+         z: "1"
+ pod/web-1 in prod  12:30:05 added, age 60m, version 12
    phase=Pending
    nodeName=n7
- pod/web-2 in prod  12:30:05 deleted, age 60m, version 12
`)
}
