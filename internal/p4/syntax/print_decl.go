package syntax

// decl prints a declaration with its semicolon, if it has one.
func (p *printer) decl(d Decl) {
	switch d := d.(type) {
	case *Const:
		p.annots(d.Annots)
		p.text("const ")
		p.typ(d.Type)
		p.text(" ", d.Name.Text, " = ")
		p.expr(d.Value, 0)
		p.text(";")
	case *Var:
		p.variable(d)
		p.text(";")
	case *Instantiation:
		p.instantiation(d)
	case *Function:
		p.annots(d.Annots)
		p.typ(d.Return)
		p.text(" ", d.Name.Text)
		p.typeParams(d.TypeParams)
		p.params(d.Params)
		p.text(" ")
		p.block(d.Body)
	case *Action:
		p.annots(d.Annots)
		p.text("action ", d.Name.Text)
		p.params(d.Params)
		p.text(" ")
		p.block(d.Body)
	case *ExternFunction:
		p.annots(d.Annots)
		p.text("extern ")
		p.prototype(d)
	case *ExternObject:
		p.head("extern", d.DeclHead, d.TypeParams)
		p.text(" ")
		p.body(len(d.Methods), func(i int) {
			m := d.Methods[i]
			p.annots(m.Annots)
			if m.Abstract {
				p.text("abstract ")
			}
			p.prototype(m)
		})
	case *Struct:
		p.head(d.Kind.String(), d.DeclHead, d.TypeParams)
		p.text(" ")
		p.body(len(d.Fields), func(i int) {
			f := d.Fields[i]
			p.annots(f.Annots)
			p.typ(f.Type)
			p.text(" ", f.Name.Text, ";")
		})
	case *Enum:
		p.enum(d)
	case *ErrorDecl:
		p.annots(d.Annots)
		p.text("error ")
		p.members(d.Members)
	case *MatchKindDecl:
		p.annots(d.Annots)
		p.text("match_kind ")
		p.members(d.Members)
	case *Typedef:
		p.typedef(d)
	case *ParserType:
		p.head("parser", d.DeclHead, d.TypeParams)
		p.params(d.Params)
		p.text(";")
	case *ControlType:
		p.head("control", d.DeclHead, d.TypeParams)
		p.params(d.Params)
		p.text(";")
	case *Package:
		p.head("package", d.DeclHead, d.TypeParams)
		p.params(d.Params)
		p.text(";")
	case *Parser:
		p.parser(d)
	case *State:
		p.state(d)
	case *ValueSet:
		p.annots(d.Annots)
		p.text("value_set<")
		p.typ(d.Elem)
		p.text(">(")
		p.expr(d.Size, 0)
		p.text(") ", d.Name.Text, ";")
	case *Control:
		p.control(d)
	case *Table:
		p.annots(d.Annots)
		p.text("table ", d.Name.Text, " ")
		p.body(len(d.Properties), func(i int) { p.property(d.Properties[i]) })
	case *Field:
		p.annots(d.Annots)
		p.typ(d.Type)
		p.text(" ", d.Name.Text, ";")
	}
}

// head prints annotations, keyword, name and type parameters.
func (p *printer) head(keyword string, h DeclHead, typeParams []Name) {
	p.annots(h.Annots)
	p.text(keyword, " ", h.Name.Text)
	p.typeParams(typeParams)
}

func (p *printer) variable(v *Var) {
	p.annots(v.Annots)
	p.typ(v.Type)
	p.text(" ", v.Name.Text)
	if v.Init != nil {
		p.text(" = ")
		p.expr(v.Init, 0)
	}
}

func (p *printer) instantiation(d *Instantiation) {
	p.annots(d.Annots)
	p.typ(d.Type)
	p.args(d.Args)
	p.text(" ", d.Name.Text)
	if d.Members != nil {
		p.text(" = ")
		p.body(len(d.Members), func(i int) { p.decl(d.Members[i]) })
	}
	p.text(";")
}

func (p *printer) params(params []*Param) {
	p.text("(")
	for i, d := range params {
		p.comma(i)
		p.annots(d.Annots)
		if d.Dir != DirNone {
			p.text(d.Dir.String(), " ")
		}
		p.typ(d.Type)
		p.text(" ", d.Name.Text)
		if d.Default != nil {
			p.text(" = ")
			p.expr(d.Default, 0)
		}
	}
	p.text(")")
}

func (p *printer) prototype(d *ExternFunction) {
	if !d.Constructor {
		p.typ(d.Return)
		p.text(" ")
	}
	p.text(d.Name.Text)
	p.typeParams(d.TypeParams)
	p.params(d.Params)
	p.text(";")
}

func (p *printer) enum(d *Enum) {
	p.annots(d.Annots)
	p.text("enum ")
	if d.Repr != nil {
		p.typ(d.Repr)
		p.text(" ")
	}
	p.text(d.Name.Text, " ")
	p.body(len(d.Members), func(i int) {
		m := d.Members[i]
		p.text(m.Name.Text)
		if m.Value != nil {
			p.text(" = ")
			p.expr(m.Value, 0)
		}
		if i+1 < len(d.Members) {
			p.text(",")
		}
	})
}

func (p *printer) members(names []Name) {
	p.body(len(names), func(i int) {
		p.text(names[i].Text)
		if i+1 < len(names) {
			p.text(",")
		}
	})
}

func (p *printer) typedef(d *Typedef) {
	p.annots(d.Annots)
	if d.New {
		p.text("type ")
	} else {
		p.text("typedef ")
	}
	if d.Def != nil {
		p.decl(d.Def)
	} else {
		p.typ(d.Type)
	}
	p.text(" ", d.Name.Text, ";")
}

func (p *printer) parser(d *Parser) {
	p.head("parser", d.DeclHead, d.TypeParams)
	p.params(d.Params)
	if d.CtorParams != nil {
		p.params(d.CtorParams)
	}
	p.text(" ")
	p.body(len(d.Locals)+len(d.States), func(i int) {
		if i < len(d.Locals) {
			p.decl(d.Locals[i])
		} else {
			p.state(d.States[i-len(d.Locals)])
		}
	})
}

func (p *printer) state(d *State) {
	p.annots(d.Annots)
	p.text("state ", d.Name.Text, " ")
	n := len(d.Stmts)
	if d.Next != nil {
		n++
	}
	p.body(n, func(i int) {
		if i < len(d.Stmts) {
			p.stmt(d.Stmts[i])
			return
		}
		p.text("transition ")
		switch t := d.Next.(type) {
		case *Goto:
			p.text(t.State.Text, ";")
		case *Select:
			p.text("select(")
			p.exprs(t.Exprs)
			p.text(") ")
			p.body(len(t.Cases), func(i int) {
				p.expr(t.Cases[i].Keyset, 0)
				p.text(": ", t.Cases[i].State.Text, ";")
			})
		}
	})
}

func (p *printer) control(d *Control) {
	p.head("control", d.DeclHead, d.TypeParams)
	p.params(d.Params)
	if d.CtorParams != nil {
		p.params(d.CtorParams)
	}
	p.text(" ")
	p.body(len(d.Locals)+1, func(i int) {
		if i < len(d.Locals) {
			p.decl(d.Locals[i])
			return
		}
		p.text("apply ")
		p.block(d.Body)
	})
}

func (p *printer) property(t TableProperty) {
	switch t := t.(type) {
	case *KeyProperty:
		p.annots(t.Annots)
		p.text("key = ")
		p.body(len(t.Elems), func(i int) {
			k := t.Elems[i]
			p.expr(k.Expr, 0)
			p.text(": ", k.Match.Text)
			p.trailing(k.Annots)
			p.text(";")
		})
	case *ActionsProperty:
		p.annots(t.Annots)
		p.text("actions = ")
		p.body(len(t.Refs), func(i int) {
			p.annots(t.Refs[i].Annots)
			p.actionRef(t.Refs[i])
			p.text(";")
		})
	case *EntriesProperty:
		p.annots(t.Annots)
		p.constant(t.Const)
		p.text("entries = ")
		p.body(len(t.Entries), func(i int) { p.entry(t.Entries[i]) })
	case *Property:
		p.annots(t.Annots)
		p.constant(t.Const)
		p.text(t.Name.Text, " = ")
		p.expr(t.Value, 0)
		p.text(";")
	}
}

func (p *printer) constant(is bool) {
	if is {
		p.text("const ")
	}
}

func (p *printer) actionRef(a *ActionRef) {
	p.text(a.Path.String())
	if a.HasArgs || len(a.Args) > 0 {
		p.args(a.Args)
	}
}

func (p *printer) entry(e *Entry) {
	p.constant(e.Const)
	if e.Priority != nil {
		p.text("priority = ")
		if lit, ok := e.Priority.(*IntLit); ok && lit.Value.Sign() >= 0 {
			p.expr(lit, 0)
		} else {
			p.text("(")
			p.expr(e.Priority, 0)
			p.text(")")
		}
		p.text(": ")
	}
	p.expr(e.Keyset, 0)
	p.text(": ")
	p.actionRef(e.Action)
	p.trailing(e.Annots)
	p.text(";")
}
