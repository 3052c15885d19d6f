// Package kube is the Kubernetes API as a source: any resource of a server, named by Go type, by group, version and
// resource or kind, or by what a person types, as a source.ListerWatcher.
//
//	client, err := kube.New(cfg)
//	defer client.Close()
//	pods, err := client.Source(kube.Request{
//		Resource:  kube.Type(scheme.Scheme, &corev1.Pod{}),
//		Namespace: "prod",
//	})
//
// Objects travel as the bytes that the server sent: protobuf where the type has it, else JSON. Which of the two it is
// shows the content type of each answer. A list is read item by item from the response body and a watch frame by frame;
// of each object only its metadata is read (package wire), and no more than one object is held. An object that cannot be
// read has its Err set and stands in nobody's way.
//
// HTTP is client-go's (package rest): authentication, TLS, proxies, exec plugins, impersonation, warnings, the client's
// rate limit, gzip. A refusal is an *apierrors.StatusError, with the server's Retry-After in it, and is not retried here.
package kube
