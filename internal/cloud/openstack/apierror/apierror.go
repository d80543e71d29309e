// Package apierror reads what OpenStack's services say when they refuse a request.
// Each has a form of its own.
package apierror

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// Code is the HTTP status of the answer, 0 when the error is none of an answer.
func Code(err error) int {
	var e gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &e) {
		return e.Actual
	}
	return 0
}

// Message is what the service says, in one line; else the error's own text.
func Message(err error) string {
	var e gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &e) {
		return err.Error()
	}
	if text := find(e.Body); text != "" {
		return text
	}
	if text := tags.ReplaceAllString(string(e.Body), " "); strings.TrimSpace(text) != "" && len(text) < 500 {
		return oneLine(text)
	}
	return http.StatusText(e.Actual)
}

// tags of HTML, which Glance and proxies answer with.
var tags = regexp.MustCompile(`(?s)<(title|style)>.*?</(title|style)>|<[^>]*>`)

// find looks for the message in a JSON body: Keystone, Nova and Neutron have it in an
// object of one name or another, Placement in a list called "errors".
func find(body []byte) string {
	var list struct {
		Errors []struct{ Title, Detail string } `json:"errors"`
	}
	if json.Unmarshal(body, &list) == nil && len(list.Errors) > 0 {
		return oneLine(list.Errors[0].Title + ": " + list.Errors[0].Detail)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return ""
	}
	for _, raw := range object {
		var inner struct {
			Message string `json:"message"`
		}
		var text string
		if json.Unmarshal(raw, &inner) == nil && inner.Message != "" {
			return oneLine(inner.Message)
		}
		if json.Unmarshal(raw, &text) == nil && len(object) == 1 {
			return oneLine(text)
		}
	}
	return ""
}

// Quota reports whether a quota or a limit of the cloud was the reason. Nova says so
// with 403 (413 in old ones), Neutron with 409.
func Quota(err error) bool {
	switch Code(err) {
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return true
	case http.StatusForbidden, http.StatusConflict:
		text := strings.ToLower(Message(err))
		// Nova says of what Neutron refused it: "Maximum number of ports exceeded".
		return strings.Contains(text, "quota") || strings.HasPrefix(text, "maximum number of ") && strings.HasSuffix(strings.TrimSuffix(text, "."), " exceeded")
	}
	return false
}

// Passing reports whether the same request may well succeed a little later: the
// service, or a proxy before it, is not up or is overloaded.
func Passing(err error) bool {
	switch Code(err) {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func oneLine(s string) string { return strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ": ") }
