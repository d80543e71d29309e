package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
)

// api implements the services of the API on an orchestrator. Errors of the
// orchestrator are returned as they are; the guard gives them their status.
type api struct {
	catenav1.UnimplementedOrchestratorServer
	catenav1.UnimplementedPlatformServer
	catenav1.UnimplementedChainsServer
	catenav1.UnimplementedRulesServer
	catenav1.UnimplementedSwitchServer

	orch    *orch.Orchestrator
	version *catenav1.Version
}

// request reads the wanted service of a message, in either form, and checks that
// the caller may touch its project.
func request(ctx context.Context, structured *catenav1.Service, manifest *catenav1.Manifest) (orch.Request, error) {
	var req orch.Request
	switch {
	case manifest != nil:
		name := manifest.GetFilename()
		if name == "" {
			name = "service.yaml"
		}
		svc, src, err := service.Parse(name, []byte(manifest.GetYaml()))
		if err != nil {
			return req, err
		}
		req.Service, req.Source = svc, src
	case structured != nil:
		svc, problems := toService(structured)
		if err := service.NewError(nil, problems); err != nil {
			return req, err
		}
		req.Service = svc
	default:
		return req, status.Error(codes.InvalidArgument, "the request names no service; set \"service\" or \"manifest\"")
	}
	named := req.Service.Project
	if req.Source != nil && !req.Source.Has("project") {
		named = manifest.GetProject() // the default was filled in
	}
	if asked := manifest.GetProject(); asked != "" && asked != named {
		return req, status.Errorf(codes.InvalidArgument, "service %q: the file is for project %q, and project %q was asked for; name it in one place", req.Service.Name, named, asked)
	}
	var err error
	req.Service.Project, err = project(ctx, named)
	return req, err
}

func (a *api) Apply(m *catenav1.ApplyRequest, stream grpc.ServerStreamingServer[catenav1.Event]) error {
	ctx := stream.Context()
	req, err := request(ctx, m.GetService(), m.GetManifest())
	if err != nil {
		return err
	}
	return a.orch.Stream(ctx, req.Service.Owner(), sendTo(stream), func(ctx context.Context) error {
		return a.orch.Apply(ctx, req)
	})
}

func sendTo(stream grpc.ServerStreamingServer[catenav1.Event]) func(orch.Event) error {
	return func(e orch.Event) error { return stream.Send(fromEvent(e)) }
}

func (a *api) Plan(ctx context.Context, m *catenav1.PlanRequest) (*catenav1.PlanResponse, error) {
	req, err := request(ctx, m.GetService(), m.GetManifest())
	if err != nil {
		return nil, err
	}
	steps, err := a.orch.PlanFor(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := &catenav1.PlanResponse{Project: req.Service.Project, Service: req.Service.Name}
	for _, s := range steps {
		resp.Steps = append(resp.Steps, &catenav1.Step{
			Id: s.ID, Action: string(s.Action), Kind: string(s.Key.Kind), Name: s.Key.Name, After: s.After, Reason: s.Reason,
		})
	}
	return resp, nil
}

// owner checks a reference to a service.
func owner(ctx context.Context, projectName, name string) (service.Owner, error) {
	p, err := project(ctx, projectName)
	if err != nil {
		return service.Owner{}, err
	}
	if name == "" {
		return service.Owner{}, status.Error(codes.InvalidArgument, "the request names no service")
	}
	return service.Owner{Project: p, Service: name}, nil
}

func (a *api) GetService(ctx context.Context, m *catenav1.GetServiceRequest) (*catenav1.ServiceState, error) {
	o, err := owner(ctx, m.GetProject(), m.GetName())
	if err != nil {
		return nil, err
	}
	st, err := a.orch.Get(ctx, o)
	if err != nil {
		return nil, err
	}
	return fromState(st), nil
}

func (a *api) ListServices(ctx context.Context, m *catenav1.ListServicesRequest) (*catenav1.ListServicesResponse, error) {
	visible, err := projects(ctx, m.GetProject())
	if err != nil {
		return nil, err
	}
	resp := &catenav1.ListServicesResponse{}
	for _, p := range visible {
		list, err := a.orch.List(ctx, p)
		if err != nil {
			return nil, err
		}
		for i := range list {
			resp.Services = append(resp.Services, fromState(&list[i]))
		}
	}
	return resp, nil
}

func (a *api) DeleteService(m *catenav1.DeleteServiceRequest, stream grpc.ServerStreamingServer[catenav1.Event]) error {
	o, err := owner(stream.Context(), m.GetProject(), m.GetName())
	if err != nil {
		return err
	}
	return a.orch.Stream(stream.Context(), o, sendTo(stream), func(ctx context.Context) error {
		return a.orch.Delete(ctx, o)
	})
}

func (a *api) Watch(m *catenav1.WatchRequest, stream grpc.ServerStreamingServer[catenav1.Event]) error {
	ctx := stream.Context()
	of := service.Owner{Project: m.GetProject(), Service: m.GetService()}
	visible, err := projects(ctx, of.Project)
	if err != nil {
		return err
	}
	if len(visible) == 1 {
		of.Project = visible[0]
	}
	send := sendTo(stream)
	return a.orch.Watch(ctx, of, func() { _ = stream.SendHeader(nil) }, func(e orch.Event) error {
		if !identityOf(ctx).may(e.Owner.Project) {
			return nil
		}
		return send(e)
	})
}

func (a *api) GetVersion(context.Context, *catenav1.GetVersionRequest) (*catenav1.Version, error) {
	return a.version, nil
}
