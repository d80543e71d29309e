package proxy

import (
	"cmp"
	"context"
	"errors"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/keystone"
)

type identity struct {
	cloudv1.UnimplementedIdentityServer
	all *Services
}

func (s *identity) Authenticate(ctx context.Context, m *cloudv1.AuthenticateRequest) (*cloudv1.Token, error) {
	var auth tokens.AuthOptions
	var who string
	switch {
	case m.GetPassword() != nil:
		p := m.GetPassword()
		if err := needed("user", p.GetUser(), "password", p.GetPassword(), "project", p.GetProject()); err != nil {
			return nil, err
		}
		who = "user " + p.GetUser()
		// Domains go by name or id; "default" is the id of the one called "Default".
		auth = tokens.AuthOptions{Username: p.GetUser(), Password: p.GetPassword(), Scope: tokens.Scope{ProjectName: p.GetProject()}}
		auth.DomainID, auth.DomainName = domain(p.GetUserDomain())
		auth.Scope.DomainID, auth.Scope.DomainName = domain(cmp.Or(p.GetProjectDomain(), p.GetUserDomain()))
	case m.GetApplicationCredential() != nil:
		c := m.GetApplicationCredential()
		if err := needed("id", c.GetId(), "secret", c.GetSecret()); err != nil {
			return nil, err
		}
		who = "application credential " + c.GetId()
		auth = tokens.AuthOptions{ApplicationCredentialID: c.GetId(), ApplicationCredentialSecret: c.GetSecret()}
	default:
		return nil, status.Error(codes.InvalidArgument, "the request has no credentials; set \"password\" or \"application_credential\"")
	}
	t, err := s.all.cfg.Keystone.Authenticate(ctx, &auth)
	if errors.Is(err, keystone.ErrInvalid) {
		return nil, status.Errorf(codes.Unauthenticated, "%s: the identity service refuses the credentials, or the user has no role in the project", who)
	}
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "%s: %v", who, err)
	}
	out := fromToken(t)
	out.Id = t.ID
	return out, nil
}

func domain(name string) (id, byName string) {
	if name == "" || name == "default" {
		return "default", ""
	}
	return "", name
}

func (s *identity) GetToken(ctx context.Context, _ *cloudv1.GetTokenRequest) (*cloudv1.Token, error) {
	t, err := token(ctx)
	if err != nil {
		return nil, err
	}
	return fromToken(t), nil
}

func fromToken(t *keystone.Token) *cloudv1.Token {
	return &cloudv1.Token{
		Expires: stamp(t.Expires), UserId: t.User.ID, User: t.User.Name,
		ProjectId: t.Project.ID, Project: t.Project.Name, Roles: t.Roles,
	}
}
