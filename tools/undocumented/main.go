// Undocumented lists the exported functions, methods, types, constants and variables without a doc comment in the Go files
// that it is given: "file:line: name". Tests, generated files and programs are left out. It exits with 2 if a file
// cannot be parsed.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"strings"
)

func main() {
	for _, file := range os.Args[1:] {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if err := check(os.Stdout, file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}

func check(out io.Writer, name string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if file.Name.Name == "main" || ast.IsGenerated(file) {
		return nil
	}
	report := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		if !id.IsExported() {
			return
		}
		for _, doc := range docs {
			if doc.Text() != "" {
				return
			}
		}
		fmt.Fprintf(out, "%s: %s\n", set.Position(id.Pos()), id.Name)
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil || ast.IsExported(receiver(decl.Recv.List[0].Type)) {
				report(decl.Name, decl.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					// A group's comment introduces its types; it says nothing of each.
					if decl.Lparen.IsValid() {
						report(spec.Name, spec.Doc, spec.Comment)
					} else {
						report(spec.Name, decl.Doc)
					}
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						report(id, decl.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return nil
}

// receiver returns the name of a receiver's type, without pointer and type parameters.
func receiver(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.StarExpr:
		return receiver(expr.X)
	case *ast.IndexExpr:
		return receiver(expr.X)
	case *ast.IndexListExpr:
		return receiver(expr.X)
	}
	return ""
}
