package workload

import "strconv"

// The annotations by which a modification shows, and those that only some pods have.
const (
	changedLabel       = "rollout.example.com/phase"
	changedAnnotation  = "rollout.example.com/touched-at"
	handoverAnnotation = "handover.example.com/last"
)

// address returns the last two numbers of the pod's IPv4 address and the tail of its IPv6 address.
func (b *podBuilder) address() (third, fourth int, tail string) {
	r := b.own(ownAddress)
	third, fourth = r.n(256), r.between(2, 254)
	group := func() string { return strconv.FormatInt(int64(r.between(0x1000, 0xffff)), 16) } // canonical: no leading zero
	return third, fourth, group() + ":" + group() + ":" + group()
}

func (b *podBuilder) podIPs() (v4, v6 string) {
	third, fourth, tail := b.address()
	return "10.42." + strconv.Itoa(third) + "." + strconv.Itoa(fourth), "fd00:10:42::" + tail
}

// annotate adds what the network, the identity provider, the scheduler and admission write on each pod.
func (b *podBuilder) annotate(a map[string]string, node int) {
	v4, v6 := b.podIPs()
	sandbox, cert, decision, audit, trace := b.own(ownSandbox), b.own(ownCertificate), b.own(ownDecision), b.own(ownAudit), b.own(ownTrace)
	a["cni.example.io/containerID"] = sandbox.hex(64)
	a["cni.example.io/podIPs"] = v4 + "/32," + v6 + "/128"
	a["k8s.v1.cni.cncf.io/network-status"] = `[{"name":"pod-network","interface":"eth0","ips":["` + v4 + `","` + v6 + `"],"mac":"` + b.mac() + `","default":true,"dns":{}}]`
	a["identity.example.com/certificate"] = `{"sha256":"` + cert.hex(64) + `"}`
	a["scheduler.example.com/decision"] = `{"id":"` + decision.uuid() + `","node":"` + b.g.nodeName(node) + `","score":` + strconv.Itoa(decision.n(100_000)) + `}`
	a["policy.example.com/admission"] = `{"auditID":"` + audit.uuid() + `","mode":"enforce","warnings":[]}`
	a["tracing.example.com/traceparent"] = "00-" + trace.hex(32) + "-" + trace.hex(16) + "-01"
	if text := b.handover(); text != "" {
		a[handoverAnnotation] = text
	}
	if extra := b.g.drift - 1; extra > 0 {
		// Beyond drift 1 every identity is already the pod's own; what remains is to have more of them.
		r := rng(mix(b.seed, 0xe87a))
		a["identity.example.com/session-keys"] = r.base64Text(int(600 * extra))
	}
}

func (b *podBuilder) mac() string {
	r := b.own(ownAddress)
	h := "0a58" + r.hex(8)
	return h[0:2] + ":" + h[2:4] + ":" + h[4:6] + ":" + h[6:8] + ":" + h[8:10] + ":" + h[10:12]
}

// handover returns the 200 to 400 bytes that three pods in ten (at drift 1) carry of their own, or nothing.
func (b *podBuilder) handover() string {
	r := rng(mix(b.seed, ownHandover))
	if !r.chance(0.30 * b.g.drift) {
		return ""
	}
	size := r.between(200, 400)
	text := make([]byte, 0, size+16)
	text = append(text, `{"log":"`...)
	for len(text) < size-2 {
		text = append(text, pick(&r, handoverWords)...)
		text = append(text, '=')
		text = strconv.AppendInt(text, int64(r.n(1_000_000)), 10)
		text = append(text, ' ')
	}
	return string(append(text[:size-2], `"}`...))
}
