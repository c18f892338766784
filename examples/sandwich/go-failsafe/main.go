// Command service sells things at the price that another service tells it. It
// asks with failsafe-go: three attempts of 300 ms, and with -breaker a circuit
// breaker around each.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
)

// forwarded are the headers that an incoming request hands on to the outgoing
// ones: either tells brunt whose request an attempt belongs to. A service that is
// traced hands on the first anyway.
var forwarded = []string{"Traceparent", "X-Brunt-Request"}

func main() {
	breaker := flag.Bool("breaker", false, "stop calling what fails")
	flag.Parse()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100 // with the 2 by default, most calls connect anew
	shop := &shop{os.Getenv("BRUNT_URL_PRICES"), &http.Client{Transport: transport}, policies(*breaker)}
	if err := serve(os.Getenv("BRUNT_LISTEN"), shop); err != nil {
		log.Fatal(err)
	}
}

// policies returns what stands around an attempt, the outermost first.
func policies(breaker bool) []failsafe.Policy[[]byte] {
	list := []failsafe.Policy[[]byte]{
		retrypolicy.NewBuilder[[]byte]().
			WithMaxAttempts(3).WithDelay(20 * time.Millisecond).
			AbortOnErrors(circuitbreaker.ErrOpen). // or refusals would be retried too
			ReturnLastFailure().Build(),
	}
	if breaker {
		list = append(list, circuitbreaker.NewBuilder[[]byte]().
			WithFailureThreshold(5).WithDelay(500*time.Millisecond).Build())
	}
	return append(list, timeout.New[[]byte](300*time.Millisecond))
}

type shop struct {
	prices   string
	client   *http.Client
	policies []failsafe.Policy[[]byte]
}

// ServeHTTP answers with the price.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	price, err := failsafe.With(s.policies...).WithContext(r.Context()).
		GetWithExecution(func(e failsafe.Execution[[]byte]) ([]byte, error) { return s.ask(e.Context(), r.Header) })
	switch {
	case errors.Is(err, circuitbreaker.ErrOpen):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		_, _ = w.Write(price) // a caller that has left does not read it
	}
}

// ask is one attempt, to the end of the answer's body: a body that is left unread
// keeps its connection.
func (s *shop) ask(ctx context.Context, header http.Header) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.prices, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range forwarded {
		if value := header.Get(name); value != "" {
			q.Header.Set(name, value)
		}
	}
	answer, err := s.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	price, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New("prices: " + answer.Status)
	}
	return price, err
}

// serve serves until it is told to end.
func serve(address string, h http.Handler) error {
	server := &http.Server{Addr: address, Handler: h}
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	defer context.AfterFunc(told, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
