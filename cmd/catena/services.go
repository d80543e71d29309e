package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	fabric "github.com/catena-nfv/catena/internal/fabric/p4"
	"github.com/catena-nfv/catena/internal/nodeservice"
	"github.com/catena-nfv/catena/internal/service"
)

// servicesConfig reads the options that are about nova's metadata service.
func (o *options) servicesConfig() (nodeservice.Config, error) {
	cfg := nodeservice.Config{Log: o.log.With("part", "services")}
	if o.metadata == "" {
		return cfg, nil
	}
	u, err := url.Parse(o.metadata)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return cfg, fmt.Errorf("--metadata %q is no URL like http://10.0.0.1:8775", o.metadata)
	}
	if o.metadataSecret == "" {
		return cfg, errors.New("--metadata needs --metadata-secret-file, with nova's metadata_proxy_shared_secret")
	}
	secret, err := os.ReadFile(o.metadataSecret)
	if err != nil {
		return cfg, fmt.Errorf("--metadata-secret-file: %w", err)
	}
	cfg.Nova, cfg.Secret = u, bytes.TrimSpace(secret)
	return cfg, nil
}

// startServices answers DHCP, DNS and metadata on the node's switch. A machine that cannot
// (it has no TUN devices) is a node without them.
func (n *node) startServices(ctx context.Context, o *options, st *stack) error {
	cfg, err := o.servicesConfig()
	if err != nil {
		return err
	}
	cfg.Send = n.sw.Inject
	s, err := nodeservice.Start(ctx, cfg)
	if err != nil {
		o.log.Warn("nothing answers DHCP, DNS and metadata on this node", "error", err)
		return nil
	}
	n.services.Store(s)
	st.push(func() error { n.services.Store(nil); return s.Close() })
	return nil
}

// packetIn takes the packets that are for the node's services.
func (n *node) packetIn(frame []byte) bool {
	s := n.services.Load()
	return s != nil && s.PacketIn(frame)
}

// servedFabric tells the node's services what the switch was configured with.
type servedFabric struct {
	*fabric.Fabric
	node *node
}

func (f servedFabric) Deploy(ctx context.Context, cfg service.SwitchConfig, progress func(service.Stage)) (service.SwitchReport, error) {
	r, err := f.Fabric.Deploy(ctx, cfg, progress)
	if s := f.node.services.Load(); err == nil && s != nil {
		s.Configure(cfg)
	}
	return r, err
}
