package p4info

import (
	"fmt"
	"regexp"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// The text encoder of protobuf varies its spaces from build to build, lest people
// rely on them. A field's name stands at the beginning of a line, and line breaks in
// strings are escaped, so the spaces behind it can be set right.
var (
	fieldStart   = regexp.MustCompile(`(?m)^( *[a-z0-9_]+): +`)
	messageStart = regexp.MustCompile(`(?m)^( *[a-z0-9_]+): \{`)
)

// Text gives a P4Info in the text format of protobuf, the same for the same message.
func Text(info *configv1.P4Info) (string, error) {
	b, err := prototext.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(info)
	if err != nil {
		return "", fmt.Errorf("encode P4Info: %w", err)
	}
	b = fieldStart.ReplaceAll(b, []byte("$1: "))
	return string(messageStart.ReplaceAll(b, []byte("$1 {"))), nil
}

// Binary gives a P4Info in the binary format, the same for the same message.
func Binary(info *configv1.P4Info) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("encode P4Info: %w", err)
	}
	return b, nil
}
