// Generate writes the API's Go code and OpenAPI document from its .proto files.
// It needs no protoc: the files are compiled by protocompile, the imported
// google/api files come from the Go module that has their code, and the plugins
// are built from the versions that this module's go.mod pins.
//
// It is run in this directory:
//
//	go run .            # write
//	go run . -check     # write nothing; fail when something is out of date
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bufbuild/protocompile"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// plugin is one generator: the package of its program and its parameter.
type plugin struct{ pkg, parameter string }

var plugins = []plugin{
	{"google.golang.org/protobuf/cmd/protoc-gen-go", "paths=source_relative"},
	{"google.golang.org/grpc/cmd/protoc-gen-go-grpc", "paths=source_relative"},
	{"github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway", "paths=source_relative"},
	{"github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2",
		"allow_merge=true,merge_file_name=catena/v1/catena,json_names_for_fields=false,simple_operation_ids=true,openapi_configuration=openapi.yaml"},
}

func main() {
	check := flag.Bool("check", false, "compare only, and fail on a difference")
	root := flag.String("root", "..", "directory that holds catena/")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	var protos []string
	// Files of catena/v1 come first: the merged OpenAPI document takes its head from them.
	for _, pkg := range []string{"catena/v1", "catena/cloud/v1"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.proto"))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no .proto files in %s/%s: %v", root, pkg, err)
		}
		sort.Strings(found)
		for _, p := range found {
			protos = append(protos, pkg+"/"+filepath.Base(p))
		}
	}
	files, err := compile(root, protos)
	if err != nil {
		return err
	}
	bin, err := os.MkdirTemp("", "catena-generate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	out := map[string]string{}
	for _, p := range plugins {
		if err := p.run(bin, protos, files, out); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(p.pkg), err)
		}
	}
	return write(root, out, check)
}

// compile gives the descriptors of the files and all that they import, each
// after its imports.
func compile(root string, protos []string) ([]*descriptorpb.FileDescriptorProto, error) {
	linked := protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
		fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			return protocompile.SearchResult{}, err
		}
		return protocompile.SearchResult{Proto: protodesc.ToFileDescriptorProto(fd)}, nil
	})
	compiler := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{ImportPaths: []string{root}},
			linked,
		},
		SourceInfoMode: protocompile.SourceInfoStandard, // comments become documentation
	}
	linkedFiles, err := compiler.Compile(context.Background(), protos...)
	if err != nil {
		return nil, err
	}
	var out []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(fd protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		out = append(out, protodesc.ToFileDescriptorProto(fd))
	}
	for _, fd := range linkedFiles {
		add(fd)
	}
	return out, nil
}

// run builds the plugin and adds what it generates to out.
func (p plugin) run(bin string, protos []string, files []*descriptorpb.FileDescriptorProto, out map[string]string) error {
	program := filepath.Join(bin, filepath.Base(p.pkg))
	build := exec.Command("go", "build", "-o", program, p.pkg)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	req, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: protos,
		Parameter:      proto.String(p.parameter),
		ProtoFile:      files,
		// Generated headers name the compiler's version; this is protobuf's own
		// that the Go module corresponds to, so that the text is stable.
		CompilerVersion: &pluginpb.Version{Major: proto.Int32(6), Minor: proto.Int32(33), Patch: proto.Int32(0)},
	})
	if err != nil {
		return err
	}
	var stdout bytes.Buffer
	cmd := exec.Command(program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(req), &stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(stdout.Bytes(), &resp); err != nil {
		return err
	}
	if resp.Error != nil {
		return fmt.Errorf("%s", resp.GetError())
	}
	for _, f := range resp.File {
		out[f.GetName()] = f.GetContent()
	}
	return nil
}

// write stores the files under root, or compares them.
func write(root string, out map[string]string, check bool) error {
	var stale []string
	for _, name := range sortedNames(out) {
		path := filepath.Join(root, filepath.FromSlash(name))
		old, err := os.ReadFile(path)
		if err == nil && string(old) == out[name] {
			continue
		}
		if check {
			stale = append(stale, name)
			continue
		}
		if err := os.WriteFile(path, []byte(out[name]), 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", name)
	}
	if len(stale) > 0 {
		return fmt.Errorf("out of date: %s; run \"go run .\" in api/generate", strings.Join(stale, ", "))
	}
	return nil
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
