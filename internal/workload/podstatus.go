package workload

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is the status of the pod as its kubelet reports it.
//
// A pod starts out running, and ready in 97 of 100 cases. With every change of status it alternates: a container
// crashes and waits for its restart, then runs again. A pod that was created later is pending until its first change.
func (b *podBuilder) status(spec *corev1.PodSpec, node int) corev1.PodStatus {
	if b.state.incarnation > 0 && b.state.status == 0 {
		return b.pendingStatus()
	}
	v4, v6 := b.podIPs()
	host := b.g.nodeAddress(node)
	ready := b.ready()
	s := corev1.PodStatus{
		ObservedGeneration: int64(1 + b.state.image),
		Phase:              corev1.PodRunning,
		QOSClass:           corev1.PodQOSBurstable,
		HostIP:             host, HostIPs: []corev1.HostIP{{IP: host}},
		PodIP: v4, PodIPs: []corev1.PodIP{{IP: v4}, {IP: v6}},
		StartTime: new(clock(b.created + 1)),
	}
	started := b.started()
	readiness, reason, message := corev1.ConditionTrue, "", ""
	if !ready {
		readiness, reason, message = corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: [app]"
	}
	condition := func(t corev1.PodConditionType, status corev1.ConditionStatus, at int) corev1.PodCondition {
		return corev1.PodCondition{Type: t, Status: status, LastTransitionTime: clock(at)}
	}
	s.Conditions = []corev1.PodCondition{
		condition(corev1.PodInitialized, corev1.ConditionTrue, b.created+2),
		condition(corev1.PodReady, readiness, started+4),
		condition(corev1.ContainersReady, readiness, started+4),
		condition(corev1.PodScheduled, corev1.ConditionTrue, b.created),
	}
	for i := 1; i < 3; i++ {
		s.Conditions[i].Reason, s.Conditions[i].Message = reason, message
	}
	s.ContainerStatuses = make([]corev1.ContainerStatus, len(spec.Containers))
	for i := range spec.Containers {
		b.containerStatus(&s.ContainerStatuses[i], &spec.Containers[i], i, ready || i > 0)
	}
	if n := len(spec.InitContainers); n > 0 {
		s.InitContainerStatuses = make([]corev1.ContainerStatus, n)
		for i := range spec.InitContainers {
			b.containerStatus(&s.InitContainerStatuses[i], &spec.InitContainers[i], 16+i, true)
		}
	}
	return s
}

func (b *podBuilder) pendingStatus() corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable,
		Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: clock(b.created),
		}},
	}
}

// cycle counts the changes between running (even) and crashed (odd) that the pod went through.
func (b *podBuilder) cycle() int {
	if b.state.incarnation > 0 {
		return b.state.status - 1 // the first one took it from pending to running
	}
	return b.state.status
}

func (b *podBuilder) restarts() int { return (b.cycle() + 1) / 2 }

func (b *podBuilder) ready() bool {
	if b.state.status > 0 {
		return b.cycle()%2 == 0
	}
	r := b.own(ownReady)
	return r.chance(0.97)
}

// started is when the first container last started.
func (b *podBuilder) started() int {
	if b.state.status > 0 {
		return month + b.state.statusAt
	}
	r := b.own(ownTime)
	return b.created + 2 + r.n(20)
}

func (b *podBuilder) containerStatus(s *corev1.ContainerStatus, c *corev1.Container, number int, ready bool) {
	restarts, started := 0, b.created+2+number
	if number == 0 {
		restarts, started = b.restarts(), b.started()
	}
	// A sibling that pulled through another mirror or for another architecture reports another digest.
	image, id := b.own(ownImage+uint64(number)), b.own(ownContainer+uint64(number)+uint64(restarts)<<16)
	repository := c.Image
	if i := strings.LastIndexByte(repository, ':'); i >= 0 {
		repository = repository[:i]
	}
	s.Name, s.Image, s.ImageID = c.Name, c.Image, repository+"@sha256:"+image.hex(64)
	s.ContainerID = "containerd://" + id.hex(64)
	s.Ready, s.Started, s.RestartCount = ready, new(ready), int32(restarts)
	if ready {
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: clock(started)}
	} else {
		s.State.Waiting = &corev1.ContainerStateWaiting{
			Reason: "CrashLoopBackOff", Message: "back-off " + strconv.Itoa(10<<min(restarts, 5)) + "s restarting failed container=app",
		}
	}
	if restarts > 0 {
		last := b.own(ownContainer + uint64(number) + uint64(restarts-1)<<16)
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "OOMKilled", StartedAt: clock(b.created + 2), FinishedAt: clock(started),
			ContainerID: "containerd://" + last.hex(64),
		}
	}
}

// lastStatus is when the kubelet wrote the status.
func (b *podBuilder) lastStatus() metav1.Time { return clock(b.started() + 5) }
