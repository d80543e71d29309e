package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

// Config says which device to talk to, and as who.
type Config struct {
	// Target is what gRPC dials: "127.0.0.1:9559", "unix:///run/catena/p4rt.sock".
	Target string
	// Dial adds to the connection's options; nil means no transport security.
	Dial     []grpc.DialOption
	DeviceID uint64 // 0 means 1
	Role     string // "" is the default role: full access
	// Election is the id with which to become primary. 0 opens no stream: such a
	// client can only read.
	Election uint64
	// PacketIn and Digest are called for each packet and digest list, one at a
	// time, in order. The next one waits for them.
	PacketIn func(PacketIn)
	Digest   func(Digest)
}

// Pipeline is a forwarding pipeline configuration.
type Pipeline struct {
	P4Info       *configv1.P4Info // nil to set what the device's compiler makes
	DeviceConfig []byte           // v1model P4 text for this project's switches
	Cookie       uint64           // 0: none
}

// Action is how a pipeline is set.
type Action int

// The actions. Reconcile keeps the state that the new program still has.
const (
	Verify Action = iota + 1
	Save
	Commit // verify, save, and run with cleared state
	CommitSaved
	Reconcile // verify, save, and run with the state kept
)

// Client is a session with one device. Its methods may be called concurrently.
type Client struct {
	cfg    Config
	conn   *grpc.ClientConn
	rpc    v1.P4RuntimeClient
	cancel context.CancelFunc
	done   chan struct{}

	sendMu sync.Mutex // a gRPC stream takes one sender
	stream v1.P4Runtime_StreamChannelClient

	mu      sync.Mutex
	schema  *p4rt.Schema // nil: no pipeline known
	primary bool
	changed chan struct{} // closed and renewed when primary changes
	err     error         // why the stream ended
	faults  []error       // stream errors that nobody has asked for yet
}

// Dial connects, learns the pipeline if there is one, and with an election id
// waits for the answer to the arbitration. It is no error to become a backup: see
// Primary and WaitPrimary.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	if cfg.DeviceID == 0 {
		cfg.DeviceID = 1
	}
	opts := cfg.Dial
	if opts == nil {
		opts = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	}
	opts = append([]grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20))}, opts...)
	conn, err := grpc.NewClient(cfg.Target, opts...)
	if err != nil {
		return nil, fmt.Errorf("switch at %s: %w", cfg.Target, err)
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &Client{
		cfg: cfg, conn: conn, rpc: v1.NewP4RuntimeClient(conn), cancel: cancel,
		done: make(chan struct{}), changed: make(chan struct{}),
	}
	if _, err := c.Pipeline(ctx); err != nil {
		c.shut()
		return nil, fmt.Errorf("switch at %s: %w", cfg.Target, err)
	}
	if cfg.Election == 0 {
		close(c.done)
		return c, nil
	}
	if err := c.arbitrate(ctx, life); err != nil {
		c.shut()
		return nil, fmt.Errorf("switch at %s: %w", cfg.Target, err)
	}
	return c, nil
}

func (c *Client) shut() {
	c.cancel()
	c.conn.Close()
}

// Close ends the session. The switch goes on.
func (c *Client) Close() error {
	c.cancel()
	err := c.conn.Close()
	<-c.done
	return err
}

// Done is closed when the stream has ended; Err then tells why.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the stream has ended, nil before.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Schema returns the index of the pipeline's P4Info. The error wraps
// target.ErrNotFound when the device has no pipeline.
func (c *Client) Schema() (*p4rt.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schema == nil {
		return nil, fmt.Errorf("the switch has no pipeline: %w", target.ErrNotFound)
	}
	return c.schema, nil
}

// Primary reports whether this client may write.
func (c *Client) Primary() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

// WaitPrimary waits until this client may write.
func (c *Client) WaitPrimary(ctx context.Context) error {
	for {
		c.mu.Lock()
		ok, err, changed := c.primary, c.err, c.changed
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-c.done:
			if err := c.Err(); err != nil {
				return err
			}
			return errors.New("the client was opened for reading only")
		case <-ctx.Done():
			return fmt.Errorf("another client is the primary of the switch: %w", ctx.Err())
		}
	}
}

func (c *Client) election() *v1.Uint128 {
	if c.cfg.Election == 0 {
		return nil
	}
	return &v1.Uint128{Low: c.cfg.Election}
}

// Pipeline asks the device for its pipeline, and learns its names. It returns nil
// when the device has none.
func (c *Client) Pipeline(ctx context.Context) (*Pipeline, error) {
	resp, err := c.rpc.GetForwardingPipelineConfig(ctx, &v1.GetForwardingPipelineConfigRequest{DeviceId: c.cfg.DeviceID})
	if err != nil {
		return nil, plain("read the pipeline", err)
	}
	cfg := resp.GetConfig()
	if cfg == nil {
		return nil, nil
	}
	schema, err := p4rt.NewSchema(cfg.GetP4Info())
	if err != nil {
		return nil, plain("read the pipeline", err)
	}
	c.mu.Lock()
	c.schema = schema
	c.mu.Unlock()
	return &Pipeline{P4Info: cfg.GetP4Info(), DeviceConfig: cfg.GetP4DeviceConfig(), Cookie: cfg.GetCookie().GetCookie()}, nil
}

// Cookie asks for the running pipeline's cookie; 0 when there is none.
func (c *Client) Cookie(ctx context.Context) (uint64, error) {
	resp, err := c.rpc.GetForwardingPipelineConfig(ctx, &v1.GetForwardingPipelineConfigRequest{
		DeviceId: c.cfg.DeviceID, ResponseType: v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY,
	})
	if err != nil {
		return 0, plain("read the pipeline's cookie", err)
	}
	return resp.GetConfig().GetCookie().GetCookie(), nil
}

// SetPipeline verifies, saves or runs a pipeline. CommitSaved takes an empty one.
func (c *Client) SetPipeline(ctx context.Context, how Action, p Pipeline) error {
	req := &v1.SetForwardingPipelineConfigRequest{
		DeviceId: c.cfg.DeviceID, Role: c.cfg.Role, ElectionId: c.election(),
		Action: map[Action]v1.SetForwardingPipelineConfigRequest_Action{
			Verify:      v1.SetForwardingPipelineConfigRequest_VERIFY,
			Save:        v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE,
			Commit:      v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			CommitSaved: v1.SetForwardingPipelineConfigRequest_COMMIT,
			Reconcile:   v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT,
		}[how],
	}
	if how != CommitSaved {
		req.Config = &v1.ForwardingPipelineConfig{P4Info: p.P4Info, P4DeviceConfig: p.DeviceConfig}
		if p.Cookie != 0 {
			req.Config.Cookie = &v1.ForwardingPipelineConfig_Cookie{Cookie: p.Cookie}
		}
	}
	if _, err := c.rpc.SetForwardingPipelineConfig(ctx, req); err != nil {
		return plain("set the pipeline", err)
	}
	if how == Verify {
		return nil
	}
	if p.P4Info == nil || how == CommitSaved {
		_, err := c.Pipeline(ctx)
		return err
	}
	schema, err := p4rt.NewSchema(p.P4Info)
	if err != nil {
		return plain("set the pipeline", err)
	}
	c.mu.Lock()
	c.schema = schema
	c.mu.Unlock()
	return nil
}

// Version returns the version of the API that the device speaks.
func (c *Client) Version(ctx context.Context) (string, error) {
	resp, err := c.rpc.Capabilities(ctx, &v1.CapabilitiesRequest{})
	if err != nil {
		return "", plain("read the capabilities", err)
	}
	return resp.GetP4RuntimeApiVersion(), nil
}

// sentinel is the target error that a code stands for, or nil.
func sentinel(code codes.Code) error {
	switch code {
	case codes.NotFound:
		return target.ErrNotFound
	case codes.AlreadyExists:
		return target.ErrExists
	case codes.ResourceExhausted:
		return target.ErrFull
	case codes.InvalidArgument, codes.OutOfRange:
		return target.ErrInvalid
	case codes.Unimplemented:
		return target.ErrUnsupported
	}
	return nil
}
