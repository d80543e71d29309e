package orchestration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

// Each client is one of its own: it makes a connection, asks, and reads until the service
// is ACTIVE.

func overGRPC(ctx context.Context, e *Endpoint, ask func(context.Context, catenav1.OrchestratorClient) (grpc.ServerStreamingClient[catenav1.Event], error)) (last *catenav1.Event, err error) {
	conn, err := grpc.NewClient(e.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if e.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+e.Token)
	}
	stream, err := ask(ctx, catenav1.NewOrchestratorClient(conn))
	if err != nil {
		return nil, err
	}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		last = event
	}
}

func applyGRPC(ctx context.Context, e *Endpoint, name, text string) error {
	last, err := overGRPC(ctx, e, func(ctx context.Context, c catenav1.OrchestratorClient) (grpc.ServerStreamingClient[catenav1.Event], error) {
		return c.Apply(ctx, &catenav1.ApplyRequest{Desired: &catenav1.ApplyRequest_Manifest{Manifest: &catenav1.Manifest{Filename: name, Yaml: text}}})
	})
	if err == nil && (last.GetKind() != "service" || last.GetStatus() != catenav1.Object_ACTIVE) {
		err = fmt.Errorf("service %s: the last event is %v", name, last)
	}
	return err
}

func deleteGRPC(ctx context.Context, e *Endpoint, name string) error {
	_, err := overGRPC(ctx, e, func(ctx context.Context, c catenav1.OrchestratorClient) (grpc.ServerStreamingClient[catenav1.Event], error) {
		return c.DeleteService(ctx, &catenav1.DeleteServiceRequest{Name: name})
	})
	return err
}

func applyREST(ctx context.Context, e *Endpoint, name, text string) error {
	body, err := json.Marshal(map[string]any{"manifest": map[string]string{"filename": name, "yaml": text}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.HTTP+"/v1/services:apply", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if e.Token != "" {
		req.Header.Set("Authorization", "Bearer "+e.Token)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var line struct {
		Result struct{ Kind, Status string }
		Error  *struct{ Message string }
	}
	lines := json.NewDecoder(resp.Body)
	for {
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("service %s: HTTP %s: %w", name, resp.Status, err)
		}
		if line.Error != nil {
			return errors.New(line.Error.Message)
		}
	}
	if line.Result.Kind != "service" || line.Result.Status != "ACTIVE" {
		return fmt.Errorf("service %s: HTTP %s, and the last event is of %s, %s", name, resp.Status, line.Result.Kind, line.Result.Status)
	}
	return nil
}
