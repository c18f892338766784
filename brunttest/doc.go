// Package brunttest runs a study around your own Go client, inside a Go test, in
// virtual time.
//
//	func TestOutage(t *testing.T) {
//		brunttest.Run(t, "testdata/outage.yaml", func(dep brunttest.Dependency) brunttest.Client {
//			client := mine.NewClient(dep.URL(), dep.HTTPClient())
//			return func(ctx context.Context) error { return client.Fetch(ctx) }
//		})
//	}
//
// The study's schedule is played in a bubble of testing/synctest: each request
// calls the client on a goroutine of its own, at its intended instant, and what
// the client calls behaves as the study's simulated dependencies do at that
// instant. Two minutes of it take a second. The client is not changed for it; it
// stands as the composition "client" beside brunt's own stacks, in the same tables
// and judged by the same expectations, and one that does not hold fails the test.
//
// A request is attributed to what the client does for it by its context. Code that
// loses the context can hand the request on in the header X-Brunt-Request (see
// [Request]); attempts without either are counted, and said to belong to nobody.
//
// A bubble is not reproducible: timers that fall on one instant are shuffled on
// purpose, and libraries draw their jitter where no seed reaches. So a study is
// repeated five times, unless it says itself how often, and the report shows the
// spread; an expectation holds when it does in every repeat.
//
// What the client uses must be made in the function that brunttest calls. Timers,
// channels and times of outside belong to another time: the bubble begins on the
// first of January 2000. A lock that is held while time passes, and a real network
// connection, keep the bubble's time from moving; the test then ends with the
// stacks of who waits.
//
// With -brunt.out DIR, behind the packages on the command line of go test, each
// run leaves its results there, in a folder named after the test.
//
// A program that is no test makes a client ready for package lab with [NewGuest].
//
// [Run] may be called from parallel tests; they take turns. Durations are virtual
// but for that of [Patience].
package brunttest
