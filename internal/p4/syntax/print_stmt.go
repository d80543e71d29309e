package syntax

// stmt prints a statement with its semicolon.
func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *EmptyStmt:
		p.text(";")
	case *Assign, *CallStmt:
		p.simple(s)
		p.text(";")
	case *DirectApply:
		p.typ(s.Type)
		p.text(".apply")
		p.args(s.Args)
		p.text(";")
	case *Block:
		p.block(s)
	case *DeclStmt:
		p.decl(s.Decl)
	case *If:
		p.ifStmt(s)
	case *Return:
		p.text("return")
		if s.Value != nil {
			p.text(" ")
			p.expr(s.Value, 0)
		}
		p.text(";")
	case *Exit:
		p.text("exit;")
	case *Break:
		p.text("break;")
	case *Continue:
		p.text("continue;")
	case *Switch:
		p.switchStmt(s)
	case *For:
		p.forStmt(s)
	case *ForIn:
		p.annots(s.Annots)
		p.text("for (")
		p.variable(s.Var)
		p.text(" in ")
		p.expr(s.Over, 0)
		p.text(")")
		p.branch(s.Body)
	}
}

// simple prints a statement of a for's head, without a semicolon.
func (p *printer) simple(s Stmt) {
	switch s := s.(type) {
	case *Assign:
		p.expr(s.LHS, precPostfix)
		p.text(" ", s.Op.String(), "= ")
		p.expr(s.RHS, 0)
	case *CallStmt:
		p.expr(s.Call, 0)
	case *DirectApply:
		p.typ(s.Type)
		p.text(".apply")
		p.args(s.Args)
	case *DeclStmt:
		if v, ok := s.Decl.(*Var); ok {
			p.variable(v)
		}
	}
}

func (p *printer) block(b *Block) {
	p.annots(b.Annots)
	p.body(len(b.Stmts), func(i int) { p.stmt(b.Stmts[i]) })
}

// branch prints the statement under if, else or for.
func (p *printer) branch(s Stmt) {
	if b, ok := s.(*Block); ok {
		p.text(" ")
		p.block(b)
		return
	}
	p.indent++
	p.line()
	p.stmt(s)
	p.indent--
}

// ifStmt prints a row of else-ifs without recursion, as the parser reads it.
func (p *printer) ifStmt(s *If) {
	for {
		p.text("if (")
		p.expr(s.Cond, 0)
		p.text(")")
		if s.Else != nil && danglingIf(s.Then) {
			p.branch(&Block{Stmts: []Stmt{s.Then}})
		} else {
			p.branch(s.Then)
		}
		if s.Else == nil {
			return
		}
		if _, ok := s.Then.(*Block); ok || danglingIf(s.Then) {
			p.text(" else")
		} else {
			p.line()
			p.text("else")
		}
		next, ok := s.Else.(*If)
		if !ok {
			p.branch(s.Else)
			return
		}
		p.text(" ")
		s = next
	}
}

// danglingIf tells whether an else behind s would be taken for a part of s.
func danglingIf(s Stmt) bool {
	for {
		switch t := s.(type) {
		case *If:
			if t.Else == nil {
				return true
			}
			s = t.Else
		case *For:
			s = t.Body
		case *ForIn:
			s = t.Body
		default:
			return false
		}
	}
}

func (p *printer) switchStmt(s *Switch) {
	p.text("switch (")
	p.expr(s.Value, 0)
	p.text(") ")
	p.body(len(s.Cases), func(i int) {
		c := s.Cases[i]
		if beginsWithBrace(c.Label) {
			p.text("(")
			p.expr(c.Label, 0)
			p.text(")")
		} else {
			p.expr(c.Label, 0)
		}
		p.text(":")
		if c.Body != nil {
			p.text(" ")
			p.block(c.Body)
		}
	})
}

// beginsWithBrace tells whether the leftmost operand of e is printed in braces, which a switch label
// cannot be.
func beginsWithBrace(e Expr) bool {
	for {
		switch x := e.(type) {
		case *ListExpr, *RecordExpr, *InvalidHeader:
			return true
		case *Member:
			e = x.X
		case *Index:
			e = x.X
		case *Slice:
			e = x.X
		case *Call:
			e = x.Fun
		case *Binary:
			e = x.X
		case *Ternary:
			e = x.Cond
		default:
			return false
		}
	}
}

func (p *printer) forStmt(s *For) {
	p.annots(s.Annots)
	p.text("for (")
	for i, t := range s.Init {
		p.comma(i)
		p.simple(t)
	}
	p.text("; ")
	p.expr(s.Cond, 0)
	p.text(";")
	for i, t := range s.Update {
		if i == 0 {
			p.text(" ")
		}
		p.comma(i)
		p.simple(t)
	}
	p.text(")")
	p.branch(s.Body)
}
