// Command service does nothing: at / it answers, at /call it asks a dependency of
// brunt's first, and at /bare a server that does nothing either, in a process of
// its own. What a study sees of the difference is what the sandwich itself takes.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
)

func main() {
	if len(os.Args) > 1 { // the bare server
		log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"ok":true}`) // a caller that has left does not read it
		})))
	}
	bare, err := free()
	if err != nil {
		log.Fatal(err)
	}
	if err := exec.Command(os.Args[0], bare).Start(); err != nil { // brunt ends it with this one
		log.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	client := &http.Client{Transport: transport}
	ask := func(url string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, nil)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			q.Header.Set("X-Brunt-Request", r.Header.Get("X-Brunt-Request"))
			answer, err := client.Do(q)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			defer answer.Body.Close()
			_, _ = io.Copy(w, answer.Body)
		}
	}
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/call", ask(os.Getenv("BRUNT_URL_NOTHING")))
	http.HandleFunc("/bare", ask("http://"+bare))
	log.Fatal(http.ListenAndServe(os.Getenv("BRUNT_LISTEN"), nil))
}

// free is an address that nobody listens at.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
