package brunttest_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"brunt/brunttest"
)

// A client that breaks off, or keeps the bubble from ending, ends the test with
// the reason and the place.
func TestTrouble(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	began := time.Now()
	var outside sync.Mutex
	never := make(chan struct{}) // made outside of any bubble

	for _, c := range []struct {
		name   string
		client brunttest.New
		says   []string
	}{
		{"panics", func(dep brunttest.Dependency) brunttest.Client {
			return func(ctx context.Context) error { panic("no more") }
		}, []string{"composition client", "the client panicked in request 0: no more", "trouble_test.go"}},
		{"panics in making it", func(dep brunttest.Dependency) brunttest.Client { panic("not today") },
			[]string{"the function that makes the client panicked: not today"}},
		{"makes none", func(dep brunttest.Dependency) brunttest.Client { return nil }, []string{"returned none"}},
		{"names another dependency", func(dep brunttest.Dependency) brunttest.Client { return dep.Named("servise").Do },
			[]string{`no dependency "servise"`, "expected one of service"}},
		{"waits for ever in making it", func(dep brunttest.Dependency) brunttest.Client {
			<-make(chan struct{})
			return dep.Do
		}, []string{"all goroutines in bubble are blocked", "the function that makes the client waits", "trouble_test.go"}},
		{"ends its goroutine", func(dep brunttest.Dependency) brunttest.Client {
			return func(ctx context.Context) error { runtime.Goexit(); return nil }
		}, []string{"ended its goroutine", "FailNow"}},
		{"never returns", func(dep brunttest.Dependency) brunttest.Client {
			return func(ctx context.Context) error { select {} }
		}, []string{"did not return from request", "after its context was cancelled"}},
		{"leaves a goroutine behind", func(dep brunttest.Dependency) brunttest.Client {
			go func() {
				for range time.Tick(time.Minute) {
				}
			}()
			return dep.Do
		}, []string{"goroutines were left over", "Dependency.Cleanup", "trouble_test.go"}},
		{"holds a lock while time passes", func(dep brunttest.Dependency) brunttest.Client {
			return func(ctx context.Context) error {
				outside.Lock()
				defer outside.Unlock()
				time.Sleep(time.Second)
				return nil
			}
		}, []string{"virtual time has stood still at 50ms", "a lock that is held", "sync.Mutex.Lock", "trouble_test.go"}},
		{"waits for a network", func(dep brunttest.Dependency) brunttest.Client {
			return func(ctx context.Context) error {
				c, err := net.Dial("tcp", listener.Addr().String())
				if err == nil {
					_, err = c.Read(make([]byte, 1))
				}
				return err
			}
		}, []string{"virtual time has stood still at 0s", "a real network connection", "IO wait"}},
		{"waits for a channel of outside", func(dep brunttest.Dependency) brunttest.Client {
			return func(ctx context.Context) error { <-never; return nil }
		}, []string{"virtual time has stood still", "a channel from outside", "chan receive"}},
		{"repeats without a wait", func(dep brunttest.Dependency) brunttest.Client {
			return func(ctx context.Context) error {
				for dep.Do(ctx) != nil && ctx.Err() == nil {
				}
				return nil
			}
		}, []string{"virtual time has stood still", "without a wait"}},
		{"reckons from a time of outside", func(dep brunttest.Dependency) brunttest.Client {
			return func(ctx context.Context) error {
				ctx, cancel := context.WithDeadline(ctx, began.Add(time.Second))
				defer cancel()
				return dep.Do(ctx)
			}
		}, []string{"a time that was read outside of the run", "2000-01-01"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sets := []string{"repeat=1"}
			if c.name == "repeats without a wait" {
				sets = append(sets, "dependencies.service={refuse: true}")
			}
			r := observe(t, func(r *recorder) {
				brunttest.Run(r, short, c.client, brunttest.Set(sets...), brunttest.Patience(300*time.Millisecond))
			})
			says(t, r.fatal, c.says...)
		})
	}
}

// Background work that is ended in a cleanup is no trouble.
func TestCleanup(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // a bubble that was left behind stays
	brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		}()
		dep.Cleanup(func() { cancel(); <-done })
		return dep.Do
	})
}
