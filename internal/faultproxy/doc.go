// Package faultproxy stands between a client and a real API server and makes things go wrong on purpose: connections are
// cut, swallowed, refused or slowed down, requests are answered with an error, watch streams are shortened or changed.
// It records what was asked, so that a test can assert on it or wait for it. It is for tests.
//
//	p, err := faultproxy.New(cfg, faultproxy.Options{})
//	defer p.Close()
//	client := rest.HTTPClientFor(p.Config())
//	rule := p.Add(faultproxy.Rule{Match: faultproxy.Watches("pods"), Times: 1, Answer: faultproxy.Throttled(3)})
//	err = rule.Wait(ctx, 1)
package faultproxy
