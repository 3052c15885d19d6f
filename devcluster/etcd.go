package main

import (
	"context"
	"errors"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd starts a single-member etcd and waits until it answers. Its log goes to os.Stderr as that is now.
func startEtcd(ctx context.Context, dir string, port int) (*embed.Etcd, error) {
	client := url.URL{Scheme: "http", Host: address(port)}
	// Nobody ever connects to the only member's peer address, so any port does, and a new one each time.
	peer := url.URL{Scheme: "http", Host: address(0)}

	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogOutputs = []string{embed.StdErrLogOutput}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	// A vote of one needs no time.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	// State must outlive the process, not a power failure; waiting for the disk is most of what a write costs.
	cfg.UnsafeNoFsync = true
	cfg.QuotaBackendBytes = 8 << 30
	// The demo writes large batches; a warning per slow request is noise here.
	cfg.WarningUnaryRequestDuration = time.Second

	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err := <-e.Err():
		e.Close()
		return nil, err
	case <-ctx.Done():
		e.Close()
		return nil, context.Cause(ctx)
	case <-time.After(30 * time.Second):
		e.Close()
		return nil, errors.New("not ready after 30 s")
	}
}
