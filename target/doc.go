// Package target calls real things: an HTTP endpoint, or one that answers with
// an OpenAI-style stream of chat tokens.
//
// A [Config] says what is called. [Resolve] looks its address up, once; a
// [Caller] then makes requests to it. Each [Caller.Start] is one request, and tells
// of itself through [Event] values: begun, written, first byte, each piece of content,
// the end. Over HTTP/1.1 without TLS it is written before Start returns, where there
// is an idle connection; everything else is done by a goroutine of the call, or by
// a loop: see [Caller.Attach].
//
// What a load generator must not do, and what is done about it here:
//
//   - A request is written at most once. Nothing is sent again by itself, whatever
//     happens to the connection. (net/http repeats requests on kept-alive
//     connections that die; so HTTP/1.1 has a connection layer of its own, and over
//     HTTP/2 every request has a body that cannot be rewound.)
//   - Connections are never a cap. A request takes the idle connection that was used
//     last, or dials.
//   - No redirect is followed, no proxy from the environment is used, nothing is
//     decompressed, no cookie is kept.
//
// Instants are [time.Duration] on the clock that is passed in as [Env.Now], as in
// the rows; [record.Never] stands for one that did not come. The package does not
// read the wall clock, but for the timer that ends a call at its deadline.
//
// A Config is plain data. All methods of Caller and Call may be called from any
// goroutine; but once a loop is attached, Start and Attach are for the loop's.
//
//	at, err := target.Resolve(ctx, &config)
//	caller, err := target.New(ctx, &config, at, target.Env{Now: now, Getenv: os.Getenv})
//	caller.Attach(loop) // or not
//	call := caller.Start(target.ID{Request: 17}, deadline, func(e target.Event) { loop.Post(…) })
//	call.Cancel()
//	caller.Close()
package target
