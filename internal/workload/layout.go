package workload

import "slices"

// Pod indexes are cut into blocks of blockSize, and a block into segments: one per workload, with its replicas side by
// side, or one per bare pod. A block is one of a few fixed layouts, so that pod i finds its workload without any table
// that grows with the number of pods.
const (
	blockSize  = 400
	numLayouts = 16
)

// workloadSizes are the replicas of the workloads of one block, before bare pods take some of the largest. None is
// below four, so that a workload of four revisions shows them all.
var workloadSizes = [...]int{88, 56, 44, 36, 28, 24, 20, 16, 14, 12, 10, 8, 8, 7, 6, 6, 5, 4, 4, 4}

const workloadsPerBlock = len(workloadSizes)

// replicaSetsPerDeployment counts the running revisions and the history that a deployment keeps at zero replicas.
const replicaSetsPerDeployment = 4

type segment struct {
	start, size int
	workload    int // number of the workload within the block; -1 for a bare pod
}

type layout struct {
	segments []segment
	segment  [blockSize]uint16 // pod offset → index in segments
	workload [workloadsPerBlock]uint16
}

func newLayout(seed uint64, bare int) layout {
	sizes := workloadSizes
	for range bare {
		largest := 0
		for i, n := range sizes {
			if n > sizes[largest] {
				largest = i
			}
		}
		sizes[largest]--
	}
	all := slices.Clone(sizes[:])
	for range bare {
		all = append(all, 0)
	}
	r := rng(seed)
	for i := len(all) - 1; i > 0; i-- {
		k := r.n(i + 1)
		all[i], all[k] = all[k], all[i]
	}
	var l layout
	start, workload := 0, 0
	for _, n := range all {
		s := segment{start, max(n, 1), -1}
		if n > 0 {
			s.workload = workload
			l.workload[workload] = uint16(len(l.segments))
			workload++
		}
		for i := range s.size {
			l.segment[start+i] = uint16(len(l.segments))
		}
		l.segments = append(l.segments, s)
		start += s.size
	}
	return l
}

func (g *Generator) layout(block int) *layout {
	return &g.layouts[mix(g.seed, 0xb10c, uint64(block))%numLayouts]
}

// place says where pod i belongs: the number of its workload (a deployment's index), or -1 for a bare pod, and the
// number of the pod within it.
func (g *Generator) place(i int) (workload, replica int) {
	block, offset := i/blockSize, i%blockSize
	l := g.layout(block)
	s := l.segments[l.segment[offset]]
	if s.workload < 0 {
		return -1, 0
	}
	return block*workloadsPerBlock + s.workload, offset - s.start
}

// firstPod returns the index of the first pod of the workload, and how many replicas it has in the whole cluster.
func (g *Generator) firstPod(workload int) (i, replicas int) {
	block := workload / workloadsPerBlock
	l := g.layout(block)
	s := l.segments[l.workload[workload%workloadsPerBlock]]
	i = block*blockSize + s.start
	if i >= g.counts[Pods] {
		return i, s.size
	}
	return i, min(s.size, g.counts[Pods]-i)
}

// deploymentCount returns how many workloads the first n pods touch.
func (g *Generator) deploymentCount(n int) int {
	count := n / blockSize * workloadsPerBlock
	if rest := n % blockSize; rest > 0 {
		for _, s := range g.layout(n / blockSize).segments {
			if s.workload >= 0 && s.start < rest {
				count++
			}
		}
	}
	return count
}
