package openstack

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// A quota that is exceeded is named with its limit and what is in use of it. Nova says
// so itself of instances; Neutron, and Nova of keypairs, do not: they are asked.

// projectOf is the id of the project that a client works in, "" when it is not known.
func projectOf(p *gophercloud.ProviderClient) string {
	result, ok := p.GetAuthResult().(interface {
		ExtractProject() (*tokens.Project, error)
	})
	if !ok {
		return ""
	}
	project, err := result.ExtractProject()
	if err != nil || project == nil {
		return ""
	}
	return project.ID
}

// quotaUse tells limit and use of the quotas that an error is about: "quota
// security_group: limit 10, 10 in use"; "" when that cannot be known.
func (s *Session) quotaUse(ctx context.Context, e *APIError) string {
	switch e.Service {
	case "network":
		return s.networkQuota(ctx, quotasIn(e.Message))
	case "compute":
		if strings.Contains(strings.ToLower(e.Message), "key pairs") {
			return s.keyPairQuota(ctx)
		}
	}
	return ""
}

// quotasIn reads the names of quotas from Neutron's message.
func quotasIn(message string) []string {
	m := quotaNames.FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	return strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune("[]', ", r) })
}

func (s *Session) networkQuota(ctx context.Context, names []string) string {
	if s.project == "" || len(names) == 0 {
		return ""
	}
	var answer struct {
		Quota map[string]struct{ Limit, Used, Reserved int }
	}
	if err := s.network.call(ctx, "GET", "quotas/"+url.PathEscape(s.project)+"/details", nil, &answer); err != nil {
		return ""
	}
	var out []string
	for _, name := range names {
		if q, ok := answer.Quota[name]; ok {
			out = append(out, fmt.Sprintf("quota %s: limit %d, %d in use", name, q.Limit, q.Used+q.Reserved))
		}
	}
	return strings.Join(out, "; ")
}

func (s *Session) keyPairQuota(ctx context.Context) string {
	var limits struct {
		Limits struct {
			Absolute struct {
				KeyPairs int `json:"maxTotalKeypairs"`
			}
		}
	}
	var have struct {
		List []struct{} `json:"keypairs"`
	}
	if s.compute.call(ctx, "GET", "limits", nil, &limits) != nil || s.compute.call(ctx, "GET", "os-keypairs", nil, &have) != nil {
		return ""
	}
	return fmt.Sprintf("quota key_pairs: limit %d, %d in use", limits.Limits.Absolute.KeyPairs, len(have.List))
}
