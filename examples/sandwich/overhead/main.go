// Command service does nothing: at / it answers, at /call it asks a dependency
// first. What a study sees of it is what the sandwich itself takes.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	client := &http.Client{Transport: transport}
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/call", func(w http.ResponseWriter, r *http.Request) {
		q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, os.Getenv("BRUNT_URL_NOTHING"), nil)
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
		_, _ = io.Copy(w, answer.Body) // a caller that has left does not read it
	})
	log.Fatal(http.ListenAndServe(os.Getenv("BRUNT_LISTEN"), nil))
}
