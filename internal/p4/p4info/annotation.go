package p4info

import (
	"regexp"
	"strings"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// annotations gives annotations as P4 writes them, without those that have a field of
// their own: @name, @id, @brief and @description.
func annotations(as ir.Annotations) []string {
	var out []string
	for _, a := range as {
		switch a.Name {
		case "name", "id", "brief", "description":
			continue
		}
		text := "@" + a.Name
		if a.Body != "" {
			text += "(" + a.Body + ")"
		}
		out = append(out, text)
	}
	return out
}

func text(as ir.Annotations, name string) string {
	if a, ok := as.Get(name); ok && len(a.Args) == 1 {
		return a.Args[0]
	}
	return ""
}

func documentation(as ir.Annotations) *configv1.Documentation {
	d := &configv1.Documentation{Brief: text(as, "brief"), Description: text(as, "description")}
	if d.Brief == "" && d.Description == "" {
		return nil
	}
	return d
}

var keyValue = regexp.MustCompile(`(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"`)

// packageInfo fills in pkg_info from the annotations of main: @pkginfo(name="…", …),
// @brief, @description, and all others as they are.
func (b *builder) packageInfo() {
	info := &configv1.PkgInfo{Arch: "v1model", Doc: documentation(b.prog.Annotations)}
	for _, a := range b.prog.Annotations {
		if a.Name != "pkginfo" {
			continue
		}
		for _, m := range keyValue.FindAllStringSubmatch(a.Body, -1) {
			v := strings.ReplaceAll(m[2], `\"`, `"`)
			switch m[1] {
			case "name":
				info.Name = v
			case "version":
				info.Version = v
			case "organization":
				info.Organization = v
			case "contact":
				info.Contact = v
			case "url":
				info.Url = v
			}
		}
	}
	for _, t := range annotations(b.prog.Annotations) {
		if !strings.HasPrefix(t, "@pkginfo") {
			info.Annotations = append(info.Annotations, t)
		}
	}
	b.info.PkgInfo = info
}
