package syntax

import "testing"

func TestParseInt(t *testing.T) {
	for _, c := range []struct {
		text          string
		value         int64
		sized, signed bool
		width         int
	}{
		{"0", 0, false, false, 0},
		{"1_000", 1000, false, false, 0},
		{"0xFf", 255, false, false, 0},
		{"0XfF", 255, false, false, 0},
		{"0b101", 5, false, false, 0},
		{"0o17", 15, false, false, 0},
		{"0d19", 19, false, false, 0},
		{"0377", 377, false, false, 0}, // no octal without 0o
		{"32w255", 255, true, false, 32},
		{"32w0d255", 255, true, false, 32},
		{"32s0xFF", 255, true, true, 32},
		{"8w0b_1010_1010", 170, true, false, 8},
		{"8w_1", 1, true, false, 8},
		{"16w0377", 377, true, false, 16},
		{"0w0", 0, true, false, 0},
		{"1s1", 1, true, true, 1},
	} {
		lit, err := parseInt(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if lit.Value.Int64() != c.value || lit.Sized != c.sized || lit.Signed != c.signed || lit.Width != c.width {
			t.Errorf("%s: got %v, sized %v, signed %v, width %d", c.text, lit.Value, lit.Sized, lit.Signed, lit.Width)
		}
		lit.Text = ""
		again, err := parseInt(lit.String())
		if err != nil || again.Value.Cmp(lit.Value) != 0 || again.Width != lit.Width || again.Signed != lit.Signed {
			t.Errorf("%s: prints as %s without its text", c.text, lit)
		}
	}
}

func TestStringsQuote(t *testing.T) {
	for text, want := range map[string]string{
		`""`:          "",
		`"a b"`:       "a b",
		`"\"\\\n"`:    "\"\\\n",
		"\"two\nl\"":  "two\nl",
		`"\q\t"`:      `\q\t`,
		`"end\\"`:     `end\`,
		`"unclosed`:   "unclosed",
		`"`:           "",
		`"ümlaut \u"`: `ümlaut \u`,
	} {
		got := unquote(text)
		if got != want {
			t.Errorf("unquote(%s) = %q, want %q", text, got, want)
		}
		if again := unquote(quote(got)); again != got {
			t.Errorf("unquote(quote(%q)) = %q", got, again)
		}
	}
}
