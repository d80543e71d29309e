package proxy

import (
	"regexp"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/catena-nfv/catena/internal/keystone"
)

// candidate is an object that a name may stand for.
type candidate struct{ id, project string }

// An id is not looked up: the cloud itself says when there is no such object.
var idRx = regexp.MustCompile(`^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)

// resolve finds the id that a reference stands for. find lists what has the name; of
// several objects those of the caller's project count, since an admin is shown those
// of all, and networks and images may be shared.
func resolve(kind, ref string, t *keystone.Token, find func(name string) ([]candidate, error)) (string, error) {
	if ref == "" {
		return "", needed(kind, ref)
	}
	if idRx.MatchString(ref) {
		return ref, nil
	}
	found, err := find(ref)
	if err != nil {
		return "", refused(kind, ref, err)
	}
	var own []candidate
	for _, c := range found {
		if c.project == t.Project.ID {
			own = append(own, c)
		}
	}
	if len(own) > 0 {
		found = own
	}
	switch len(found) {
	case 0:
		return "", status.Errorf(codes.NotFound, "%s %q: project %s has none of that name", kind, ref, t.Project.Name)
	case 1:
		return found[0].id, nil
	}
	return "", status.Errorf(codes.FailedPrecondition, "%s %q: there are %d of that name; use an id, such as %s", kind, ref, len(found), found[0].id)
}
