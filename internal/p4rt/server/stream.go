package server

import (
	"context"
	"errors"
	"io"

	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// StreamChannel is a client's session: arbitration, packets, digests, errors.
func (s *Server) StreamChannel(stream v1.P4Runtime_StreamChannelServer) error {
	sess := &session{out: newOutbox()}
	defer s.arb.leave(sess)
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()

	received := make(chan error, 1)
	go func() { received <- s.receive(ctx, stream, sess) }()
	for {
		select {
		case err := <-received:
			// What arbitration has said last still goes out.
			if sendErr := s.drainOut(stream, sess); err == nil {
				err = sendErr
			}
			return err
		case <-sess.out.wake:
			if err := s.drainOut(stream, sess); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) drainOut(stream v1.P4Runtime_StreamChannelServer, sess *session) error {
	for _, m := range sess.out.take() {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// receive handles a client's messages until the stream ends.
func (s *Server) receive(ctx context.Context, stream v1.P4Runtime_StreamChannelServer, sess *session) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch x := m.GetUpdate().(type) {
		case *v1.StreamMessageRequest_Arbitration:
			// Waiting for the writes in flight happens with the state lock.
			//lint:ignore SA2001 a barrier
			err := s.arb.update(sess, x.Arbitration, func() { s.state.Lock(); s.state.Unlock() })
			if err != nil {
				return err
			}
		case *v1.StreamMessageRequest_Packet:
			if err := s.packetOut(ctx, sess, x.Packet); err != nil {
				sess.out.push(streamError(err, func(e *v1.StreamError) {
					e.Details = &v1.StreamError_PacketOut{PacketOut: &v1.PacketOutError{PacketOut: x.Packet}}
				}), true)
			}
		case *v1.StreamMessageRequest_DigestAck:
			if err := s.digestAck(sess, x.DigestAck); err != nil {
				sess.out.push(streamError(err, func(e *v1.StreamError) {
					e.Details = &v1.StreamError_DigestListAck{DigestListAck: &v1.DigestListAckError{DigestListAck: x.DigestAck}}
				}), true)
			}
		default:
			sess.out.push(streamError(fail(codes.Unimplemented, "stream messages of this type are not supported"), func(e *v1.StreamError) {
				e.Details = &v1.StreamError_Other{Other: &v1.StreamOtherError{Other: m.GetOther()}}
			}), true)
		}
	}
}

func streamError(err error, detail func(*v1.StreamError)) *v1.StreamMessageResponse {
	st := status.Convert(coded(err))
	e := &v1.StreamError{CanonicalCode: int32(st.Code()), Message: st.Message(), Space: errorSpace, Code: int32(st.Code())}
	detail(e)
	return &v1.StreamMessageResponse{Update: &v1.StreamMessageResponse_Error{Error: e}}
}

// packetOut sends a controller's packet into the program.
func (s *Server) packetOut(ctx context.Context, sess *session, p *v1.PacketOut) error {
	if !s.arb.isPrimary(sess) {
		return fail(codes.PermissionDenied, "only the primary client sends packets")
	}
	schema := s.schema.get()
	if schema == nil {
		return fail(codes.FailedPrecondition, "no forwarding pipeline config has been set")
	}
	data, err := p4rt.JoinPacket(schema.PacketOut, p.GetMetadata(), p.GetPayload())
	if err != nil {
		return err
	}
	return s.cfg.Device.Inject(ctx, data)
}

// packetIn hands a packet of the program to the primary clients.
func (s *Server) packetIn(data []byte) {
	schema := s.schema.get()
	if schema == nil {
		return
	}
	md, payload, err := p4rt.SplitPacket(schema.PacketIn, data)
	if err != nil {
		s.cfg.Log.Warn("packet-in", "error", err)
		return
	}
	s.arb.toPrimaries(&v1.StreamMessageResponse{Update: &v1.StreamMessageResponse_Packet{Packet: &v1.PacketIn{
		Payload: append([]byte(nil), payload...), Metadata: md,
	}}})
}

func (s *Server) digestAck(sess *session, a *v1.DigestListAck) error {
	if !s.arb.isPrimary(sess) {
		return fail(codes.PermissionDenied, "only the primary client acknowledges digests")
	}
	return s.digests.ack(a)
}

func (s *Server) sendDigests(l *v1.DigestList) {
	s.arb.toPrimaries(&v1.StreamMessageResponse{Update: &v1.StreamMessageResponse_Digest{Digest: l}})
}
