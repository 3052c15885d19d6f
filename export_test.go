package tarn

import "github.com/tarn-dev/tarn/internal/mirror"

// MirrorOf returns the mirror of an informer of any type.
func MirrorOf(informer any) *mirror.Mirror {
	return informer.(interface{ mirrorOf() *mirror.Mirror }).mirrorOf()
}

func (i *Informer[T]) mirrorOf() *mirror.Mirror { return i.mirror }
