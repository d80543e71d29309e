package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/catena-nfv/catena/internal/cloud/openstack/apierror"
)

// APIError is what an API answered instead of doing what it was asked to.
type APIError struct {
	Service string // "compute", "network" …
	Status  int    // of HTTP; 0: there was no answer
	Message string // the service's own words
	Request string // method and URL
	Quota   string // that was exceeded, with its limit and use, where the message lacks them
	cause   error
}

func (e *APIError) Error() string {
	var b strings.Builder
	switch {
	case e.Status == 0:
		fmt.Fprintf(&b, "the %s service does not answer: %s (%s)", e.Service, e.Message, e.Request)
	case e.Status >= 500:
		fmt.Fprintf(&b, "the %s service fails (%d, %s): %s", e.Service, e.Status, e.Request, e.Message)
	default:
		fmt.Fprintf(&b, "the %s service refuses it (%d): %s", e.Service, e.Status, strings.TrimSuffix(e.Message, "."))
	}
	for _, more := range []string{e.Quota, e.wayOut()} {
		if more != "" {
			b.WriteString("; " + more)
		}
	}
	return b.String()
}

// Unwrap gives the library's error.
func (e *APIError) Unwrap() error { return e.cause }

var quotaNames = regexp.MustCompile(`(?i)quota exceeded for (?:resources: )?([\[\]', a-z_]+)`)

// wayOut says what can be done about it.
func (e *APIError) wayOut() string {
	text := strings.ToLower(e.Message)
	switch {
	case e.quota():
		flag := "--QUOTA"
		if names := quotasIn(e.Message); len(names) > 0 {
			for i, n := range names {
				names[i] = quotaFlag(n)
			}
			flag = strings.Join(names, " N ")
		} else if strings.Contains(text, "key pairs") {
			flag = quotaFlag("key_pairs")
		}
		return fmt.Sprintf("delete something, or have an administrator raise the quota (openstack quota set %s N PROJECT)", flag)
	case e.Status == http.StatusUnauthorized:
		return "check the credentials (openstack token issue); a controller that was given a token needs another one, and to be started again"
	case strings.Contains(text, "availability zone"):
		return "choose another with CATENA_OPENSTACK_ZONE (openstack availability zone list --compute), or leave it to the cloud"
	case strings.Contains(text, "forced_host"):
		return "only administrators may say on which host: give CATENA_OPENSTACK_ZONE without one"
	case strings.Contains(text, "flavors with zero disk"):
		return "choose a flavor with a disk (openstack flavor list)"
	case e.Status == http.StatusForbidden:
		return "the user lacks a role in the project for this"
	case e.Status == http.StatusNotAcceptable:
		return "the cloud is older than Queens: compute microversion " + microversion + " is needed"
	case e.Status == http.StatusRequestEntityTooLarge || strings.Contains(text, "user_data"):
		return "the instance's configuration is too large for user data (48 KiB)"
	case strings.Contains(text, "no valid host"):
		return "no host has room for the flavor: choose a smaller one or add a host (openstack hypervisor stats show)"
	case strings.Contains(text, "already allocated") && strings.Contains(text, "address"):
		return "another port has the address (openstack port list --fixed-ip ip-address=ADDRESS); give a free one"
	case e.locked():
		return "somebody has locked it: unlock it (openstack server unlock ID)"
	case strings.Contains(text, "external gateway") && e.Status == http.StatusBadRequest:
		return "the cloud's routers lead nowhere outside: leave \"external\" and \"floating_ip\" out of the service file"
	case strings.Contains(text, "flavor") && strings.Contains(text, "too small"):
		return "choose a larger flavor (openstack flavor list)"
	case e.Status == 0 || e.Status >= 500:
		return "see the service's log, or wait and apply it again"
	}
	return ""
}

// quotaFlag is the option of "openstack quota set" for a quota.
func quotaFlag(name string) string {
	switch name {
	case "ram":
		return "--ram"
	case "floatingip":
		return "--floating-ips"
	case "security_group":
		return "--secgroups"
	case "security_group_rule":
		return "--secgroup-rules"
	}
	return "--" + strings.ReplaceAll(strings.TrimSuffix(name, "s"), "_", "-") + "s"
}

// quota tells whether a limit was hit, which is not to be tried again. What a server in ERROR says has
// no answer behind it: Nova counts again when it builds.
func (e *APIError) quota() bool {
	if e.cause == nil {
		return quotaNames.MatchString(e.Message)
	}
	return e.Status != http.StatusTooManyRequests && apierror.Quota(e.cause)
}

// explain turns the library's errors into one that reads well.
func (a *api) explain(err error, method, target string) error {
	if err == nil {
		return nil
	}
	target, _, _ = strings.Cut(target, "?")
	out := &APIError{Service: a.service, Request: method + " " + target, cause: err}
	var reauth *gophercloud.ErrUnableToReauthenticate
	switch {
	case errors.As(err, &reauth):
		out.Status, out.Message = http.StatusUnauthorized, "the token has expired and a new one is refused"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s service: %w", a.service, err)
	default:
		out.Status, out.Message = apierror.Code(err), apierror.Message(err)
	}
	return out
}

// isStatus tells whether an API answered with one of these.
func isStatus(err error, status ...int) bool {
	var e *APIError
	if !errors.As(err, &e) {
		return false
	}
	for _, s := range status {
		if e.Status == s {
			return true
		}
	}
	return false
}

// isTransient tells whether the same request may succeed later.
func isTransient(err error) bool {
	var e *APIError
	return errors.As(err, &e) && (e.Status == 0 || e.Status == http.StatusTooManyRequests || apierror.Passing(e.cause))
}

// isBusy tells whether a request was refused because of what is going on just now.
func isBusy(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.Status == http.StatusConflict && !e.quota() && !e.locked()
}

// locked tells whether a server was refused to be touched until somebody unlocks it.
func (e *APIError) locked() bool {
	return e.Status == http.StatusConflict && strings.Contains(e.Message, "is locked")
}

// isCut tells whether a list that takes several answers cannot be gone on with: the server
// at which it stopped has been deleted.
func isCut(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.Status == http.StatusBadRequest && strings.HasPrefix(e.Message, "marker ")
}
