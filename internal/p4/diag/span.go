package diag

// FileID numbers the files of a [FileSet] from 1; 0 means "no file".
type FileID int32

// Span is a half-open range [Start, End) of bytes in one file. The zero Span means "no position".
//
// A token that a macro produced carries the span of the macro's use and, in Exp, the number of
// the expansion in the file set, so that a diagnostic can also name the definition.
type Span struct {
	File       FileID
	Start, End int32
	Exp        ExpansionID
}

// IsValid tells whether the span points into a file.
func (s Span) IsValid() bool { return s.File != 0 }

// Join returns the smallest span that covers s and t. When they lie in different files, or one of
// them is no position, the valid one that comes first in the argument order is returned.
func (s Span) Join(t Span) Span {
	switch {
	case !s.IsValid():
		return t
	case !t.IsValid() || s.File != t.File:
		return s
	}
	if t.Exp != s.Exp {
		s.Exp = 0
	}
	s.Start = min(s.Start, t.Start)
	s.End = max(s.End, t.End)
	return s
}

// At returns the empty span at the beginning of s.
func (s Span) At() Span { s.End = s.Start; return s }

// After returns the empty span just behind s, where something is missing.
func (s Span) After() Span { s.Start = s.End; return s }

// Less orders spans by file number, start and end.
func (s Span) Less(t Span) bool {
	if s.File != t.File {
		return s.File < t.File
	}
	if s.Start != t.Start {
		return s.Start < t.Start
	}
	return s.End < t.End
}
