// Package replica is a mock inference server: it answers OpenAI-style chat
// completions as a [dependency.Behaviour] says, over real sockets, and fails
// in the ways that replicas fail, when it is told to.
//
// The behaviour means what it means in a study. Workers are slots, and a
// stream holds one from its first moment to its last token, so a survivor
// really degrades when it gets the load of two. All that decides happens on
// one real [clock.Loop]; the goroutines of connections only read requests and
// write what is due. A client that reads slowly holds no slot for it.
//
// Two listeners: one serves POST /v1/chat/completions and GET /health, the
// other, on loopback alone, switches modes (POST /mode) and shows the state
// (GET /state).
//
// It leaves out what a behaviour cannot say of one replica seen through a
// socket: replicas and balancers (run several, with a front), and deadlines,
// which HTTP does not carry. It makes no text worth reading: token n is the
// word tokenN.
//
//	s, err := replica.New(replica.Config{Name: "a", Behaviour: b})
//	err = s.Serve(ctx, listener, control) // until ctx is over and streams have ended
//
// A [Server] serves once. Its methods may be called from any goroutine.
package replica
