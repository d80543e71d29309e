package stf

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// objectArgs is the least number of words behind the object's name.
var objectArgs = map[string]int{
	"counter_read": 1, "counter_write": 3, "register_read": 1, "register_write": 2, "register_reset": 0,
	"meter_get_rates": 1, "meter_set_rates": 3, "meter_array_set_rates": 2,
	"group_add": 1, "value_set_add": 1,
}

// switchArgs is the least number of arguments.
var switchArgs = map[string]int{
	"mirroring_add": 2, "mirroring_add_mc": 2, "mirroring_delete": 1, "mirroring_get": 1,
	"mc_mgrp_create": 1, "mc_node_create": 1, "mc_node_associate": 2,
}

var dataLine = regexp.MustCompile(`^[0-9a-fA-F*$\s]+$`)

// Parse reads a script; name is for errors. All errors are reported, joined, each as
// name:line: message.
func Parse(name, text string) (*Script, error) {
	s := &Script{Name: name}
	var errs []error
	for _, l := range logicalLines(text) {
		cmd, err := parseLine(l.words)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, l.line, err))
			continue
		}
		s.Stmts = append(s.Stmts, Stmt{Line: l.line, Cmd: cmd})
	}
	return s, errors.Join(errs...)
}

type logicalLine struct {
	line  int
	words string
}

// logicalLines drops comments and empty lines, and joins the lines of a packet.
func logicalLines(text string) []logicalLine {
	var out []logicalLine
	for i, l := range strings.Split(text, "\n") {
		l, _, _ = strings.Cut(l, "#")
		l = strings.TrimSpace(l)
		if l == "" {
			continue
		}
		word, _ := nextWord(l)
		if n := len(out); n > 0 && dataLine.MatchString(l) && word != "add" {
			if w, _ := nextWord(out[n-1].words); w == "packet" || w == "expect" {
				out[n-1].words += " " + l
				continue
			}
		}
		out = append(out, logicalLine{line: i + 1, words: l})
	}
	return out
}

// nextWord cuts the first word off, in lower case.
func nextWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return strings.ToLower(s), ""
	}
	return strings.ToLower(s[:i]), strings.TrimSpace(s[i:])
}

func parseLine(l string) (Command, error) {
	verb, rest := nextWord(l)
	switch verb {
	case "packet":
		return parsePacket(rest)
	case "expect":
		return parseExpect(rest)
	case "no_packet":
		return &NoPacket{}, nil
	case "wait":
		return &Wait{}, nil
	case "add":
		return parseAdd(rest)
	case "setdefault":
		table, call, ok := cutWord(rest)
		if !ok {
			return nil, errors.New("setdefault needs a table and an action")
		}
		a, tail, err := parseCall(call)
		if err == nil && tail != "" {
			err = fmt.Errorf("unexpected %q behind the action", tail)
		}
		return &SetDefault{Table: table, Action: a}, err
	case "remove":
		return parseRemove(rest)
	case "check_counter":
		return parseCheckCounter(rest)
	case "member_add":
		return parseMember(rest)
	}
	words := strings.Fields(rest)
	if n, ok := objectArgs[verb]; ok {
		if len(words) < n+1 {
			return nil, fmt.Errorf("%s needs a name and at least %d arguments", verb, n)
		}
		return &Object{Verb: verb, Name: words[0], Args: words[1:]}, nil
	}
	if n, ok := switchArgs[verb]; ok {
		args := make([]uint32, len(words))
		for i, w := range words {
			v, err := strconv.ParseUint(w, 0, 32)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is no number", verb, w)
			}
			args[i] = uint32(v)
		}
		if len(args) < n {
			return nil, fmt.Errorf("%s needs at least %d arguments", verb, n)
		}
		return &Switch{Verb: verb, Args: args}, nil
	}
	return nil, fmt.Errorf("unknown command %q", verb)
}

// cutWord cuts the first word off as it is; ok: there is more.
func cutWord(s string) (word, rest string, ok bool) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, "", false
	}
	return s[:i], strings.TrimSpace(s[i:]), true
}

func parsePort(s string) (port uint32, data string, err error) {
	word, rest, _ := cutWord(s)
	n, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		return 0, "", fmt.Errorf("%q is no port number", word)
	}
	return uint32(n), strings.Join(strings.Fields(rest), ""), nil
}

func parsePacket(s string) (Command, error) {
	port, text, err := parsePort(s)
	if err != nil {
		return nil, err
	}
	data, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("packet data: %w", err)
	}
	return &Packet{Port: port, Data: data}, nil
}

func parseExpect(s string) (Command, error) {
	port, text, err := parsePort(s)
	if err != nil {
		return nil, err
	}
	e := &Expect{Port: port, Any: text == ""}
	if t, ok := strings.CutSuffix(text, "$"); ok {
		e.Exact, text = true, t
	}
	e.Pattern = strings.ToLower(text)
	if i := strings.IndexFunc(e.Pattern, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef*", r) }); i >= 0 {
		return nil, fmt.Errorf("expected data: %q is neither a hexadecimal digit nor *", e.Pattern[i])
	}
	return e, nil
}

// parseEntry reads [PRIORITY] KEY:VALUE… up to the action, which it returns.
func parseEntry(s string) (priority int, keys []KeyValue, call string, err error) {
	for first := true; s != ""; first = false {
		word, rest, _ := cutWord(s)
		if open := strings.Index(s, "("); open >= 0 && open <= len(word) || strings.HasPrefix(rest, "(") && !strings.Contains(word, ":") {
			return priority, keys, s, nil
		}
		s = rest
		if n, err := strconv.Atoi(word); first && err == nil {
			priority = n
			continue
		}
		// Spaces around the colon are allowed.
		if strings.HasSuffix(word, ":") || strings.HasPrefix(s, ":") {
			var next string
			next, s, _ = cutWord(strings.TrimPrefix(s, ":"))
			word = strings.TrimSuffix(word, ":") + ":" + next
		}
		name, value, ok := strings.Cut(word, ":")
		if !ok {
			return 0, nil, "", fmt.Errorf("%q is no KEY:VALUE", word)
		}
		keys = append(keys, KeyValue{name, value})
	}
	return priority, keys, "", nil
}

func parseAdd(s string) (Command, error) {
	table, rest, ok := cutWord(s)
	if !ok {
		return nil, errors.New("add needs a table, keys and an action")
	}
	priority, keys, call, err := parseEntry(rest)
	if err != nil {
		return nil, err
	}
	if call == "" {
		return nil, errors.New("the entry has no action; write ACTION(…) at its end")
	}
	a, tail, err := parseCall(call)
	if err != nil {
		return nil, err
	}
	add := &Add{Table: table, Priority: priority, Keys: keys, Action: a}
	if tail != "" {
		handle, ok := strings.CutPrefix(tail, "=")
		if !ok {
			return nil, fmt.Errorf("unexpected %q behind the action", tail)
		}
		add.Handle = strings.TrimSpace(handle)
	}
	return add, nil
}

func parseRemove(s string) (Command, error) {
	table, rest, ok := cutWord(s)
	if !ok {
		if strings.EqualFold(table, "all") {
			return &Remove{}, nil
		}
		return nil, errors.New("remove needs `all`, or a table and keys")
	}
	priority, keys, call, err := parseEntry(rest)
	if err == nil && call != "" {
		err = fmt.Errorf("unexpected %q: remove takes no action", call)
	}
	return &Remove{Table: table, Priority: priority, Keys: keys}, err
}

// parseCall reads NAME(ARG:VALUE, …) and returns what follows.
func parseCall(s string) (a ActionCall, tail string, err error) {
	name, rest, ok := strings.Cut(s, "(")
	if !ok {
		return a, "", fmt.Errorf("%q is no action: its arguments (…) are missing", s)
	}
	args, tail, ok := strings.Cut(rest, ")")
	if !ok {
		return a, "", errors.New("the ) of the action's arguments is missing")
	}
	a.Name = strings.TrimSpace(name)
	if strings.ContainsAny(a.Name, " \t") || a.Name == "" {
		return a, "", fmt.Errorf("%q is no action name", a.Name)
	}
	if strings.TrimSpace(args) == "" {
		return a, strings.TrimSpace(tail), nil
	}
	for _, arg := range strings.Split(args, ",") {
		n, v, named := strings.Cut(arg, ":")
		if !named {
			n, v = "", n
		}
		a.Args = append(a.Args, KeyValue{strings.TrimSpace(n), strings.TrimSpace(v)})
	}
	return a, strings.TrimSpace(tail), nil
}

var counterSyntax = regexp.MustCompile(`^([^\s(]+)\s*\(\s*([^\s)]+)\s*\)\s*(?:(packets|bytes)\s*(==|!=|<=|>=|<|>)\s*(\S+))?$`)

func parseCheckCounter(s string) (Command, error) {
	m := counterSyntax.FindStringSubmatch(s)
	if m == nil {
		return nil, errors.New("check_counter is written NAME(INDEX) [packets|bytes == NUMBER]")
	}
	c := &CheckCounter{Name: m[1], Index: m[2], Unit: m[3], Compare: m[4]}
	if m[5] != "" {
		n, err := strconv.ParseUint(m[5], 0, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", m[5])
		}
		c.Value = n
	}
	return c, nil
}

func parseMember(s string) (Command, error) {
	profile, rest, _ := cutWord(s)
	id, call, ok := cutWord(rest)
	n, err := strconv.ParseUint(id, 0, 32)
	if err != nil || !ok {
		return nil, errors.New("member_add needs a profile, a number and an action")
	}
	a, tail, err := parseCall(call)
	if err == nil && tail != "" {
		err = fmt.Errorf("unexpected %q behind the action", tail)
	}
	return &MemberAdd{Profile: profile, ID: uint32(n), Action: a}, err
}
