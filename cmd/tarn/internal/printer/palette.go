package printer

import "github.com/fatih/color"

// palette are the colours in use, or none.
type palette struct{ added, updated, deleted, faint, strong *color.Color }

func newPalette(on bool) palette {
	make := func(attributes ...color.Attribute) *color.Color {
		c := color.New(attributes...)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return palette{
		added: make(color.FgGreen), updated: make(color.FgYellow), deleted: make(color.FgRed),
		faint: make(color.Faint), strong: make(color.Bold),
	}
}

// of returns the sign and the colour of a type of record.
func (p palette) of(t Type) (sign string, c *color.Color) {
	switch t {
	case Added:
		return "+", p.added
	case Updated:
		return "~", p.updated
	case Deleted:
		return "-", p.deleted
	}
	return "=", p.faint
}
