package apierror

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
)

func TestMessage(t *testing.T) {
	for _, c := range []struct {
		code    int
		body    string
		want    string
		quota   bool
		passing bool
	}{
		{409, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['port'].", "detail": ""}}`,
			"Quota exceeded for resources: ['port'].", true, false},
		{409, `{"NeutronError": {"type": "NetworkInUse", "message": "Unable to complete operation on network x.\nThere are one or more ports still in use.", "detail": ""}}`,
			"Unable to complete operation on network x. There are one or more ports still in use.", false, false},
		{403, `{"forbidden": {"code": 403, "message": "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances"}}`,
			"Quota exceeded for instances: Requested 1, but already used 10 of 10 instances", true, false},
		{403, `{"forbidden": {"code": 403, "message": "Maximum number of ports exceeded"}}`, "Maximum number of ports exceeded", true, false},
		{403, `{"forbidden": {"code": 403, "message": "Policy doesn't allow it"}}`, "Policy doesn't allow it", false, false},
		{404, `{"itemNotFound": {"code": 404, "message": "Instance x could not be found."}}`, "Instance x could not be found.", false, false},
		{400, `{"errors": [{"status": 400, "title": "Bad Request", "detail": "JSON does not validate"}]}`, "Bad Request: JSON does not validate", false, false},
		{401, `{"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}`,
			"The request you have made requires authentication.", false, false},
		{404, "<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1>\nNo image found with ID x<br /></body></html>",
			"404 Not Found No image found with ID x", false, false},
		{503, "", "Service Unavailable", false, true},
		{429, "slow down", "slow down", true, false},
		{500, `{"computeFault": {"code": 500, "message": "Unexpected API Error."}}`, "Unexpected API Error.", false, true},
	} {
		err := fmt.Errorf("call: %w", gophercloud.ErrUnexpectedResponseCode{Actual: c.code, Body: []byte(c.body)})
		if got := Message(err); got != c.want {
			t.Errorf("%d %s\n got %q\nwant %q", c.code, c.body, got, c.want)
		}
		if Code(err) != c.code || Quota(err) != c.quota || Passing(err) != c.passing {
			t.Errorf("%d %s: code %d, quota %v, passing %v", c.code, c.body, Code(err), Quota(err), Passing(err))
		}
	}
	if err := errors.New("connection refused"); Message(err) != "connection refused" || Code(err) != 0 || Quota(err) || Passing(err) {
		t.Error("an error that is no answer")
	}
}
