// Package fielddiff tells which fields of a decoded object changed, and from what to what.
//
//	for _, c := range fielddiff.Diff(before, after) {
//		fmt.Println(c.Path, c.Old, c.New) // status.conditions[Ready].status False True
//	}
//
// Items of a list are matched as a person would: by name, type or another field that tells them apart, so that an inserted
// container does not make all later ones look changed. Lists without such a field are compared item by item where they are
// equally long, and as a whole where they are not.
package fielddiff
