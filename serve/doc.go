// Package serve shows the runs of a folder on a page of this machine: it lists
// them, opens and compares their reports, and runs a simulated study with other
// values, to see at once what they do.
//
// A [Server] listens on loopback alone and answers nobody but the browser that
// was given its address: every request carries a cookie that only the address
// with the token sets, names the server itself as its host, and comes from no
// other site. What a run has written is never taken for markup of these pages:
// reports are shown in a sandbox, without a way to ask this server for
// anything.
//
// Nothing outside of the folder is read but the studies that are offered, and
// nothing is written but a run that somebody asks to keep. A study that would
// read files, start commands, call anything real or need the real clock is
// refused, and so is one that makes too much work.
//
// Functions and methods may be called from any goroutine.
//
//	l, err := serve.Listen(ctx, "127.0.0.1:0")
//	s := serve.New(serve.Config{Folder: "runs", Instrument: lab.ThisInstrument()})
//	fmt.Println(s.Address(l))
//	err = s.Serve(ctx, l)
package serve
