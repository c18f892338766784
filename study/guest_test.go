package study

import (
	"slices"
	"strings"
	"testing"
)

const guestless = `
study: x
load: {rate: 10/s}
dependencies: {service: {latency: 5ms}, backup: {hang: true}}
phases: [{name: a, for: 1s}]
`

// TestGuests: compositions that the options name are there, whatever the file says.
func TestGuests(t *testing.T) {
	for _, c := range []struct {
		name, text string
		guests     []string
		names      []string // compositions, in order
		wrong      string
	}{
		{"none asked for", guestless + "compositions: {plain: [{call: service}]}", nil, []string{"plain"}, ""},
		{"no compositions", guestless, []string{"client"}, []string{"client"}, ""},
		{"added behind others", guestless + "compositions: {plain: [{call: service}]}", []string{"a", "b"}, []string{"plain", "a", "b"}, ""},
		{"in its place", guestless + "compositions: {client: [], plain: [{call: service}]}", []string{"client"}, []string{"client", "plain"}, ""},
		{"written out, with a stage around it", guestless + "compositions: {client: [{timeout: {after: 1s}}, {guest: brunttest}]}", []string{"client"}, []string{"client"}, ""},
		{"a stack of brunt's", guestless + "compositions: {client: [{call: service}]}", []string{"client"}, nil, "expected [], or a stack that ends in {guest: brunttest}"},
		{"something else", guestless + "compositions: {client: 5}", []string{"client"}, nil, "compositions.client"},
		{"of an unknown kind", guestless + "compositions: {client: [{guest: pip}]}", nil, nil, "compositions.client.0.guest"},
		{"not at the end", guestless + "compositions: {client: [{guest: brunttest}, {timeout: {after: 1s}}]}", nil, nil, "guest ends a stack"},
		{"in a fallback", guestless + "compositions: {client: [{fallback: {to: [[{guest: brunttest}], [{call: backup}]]}}]}", nil, nil, "stands in a fallback"},
		{"in a service", guestless + "compositions: {plain: [{call: service}]}\nservices: {tier: {stack: [{guest: brunttest}]}}", nil, nil, "services.tier"},
		{"on the real clock", guestless + "clock: real", []string{"client"}, nil, "expected clock: virtual"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Read("-", Options{Stdin: strings.NewReader(c.text), Guests: c.guests})
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Fatalf("the error: %v\nexpected one that says %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if names := s.Compositions.Names(); !slices.Equal(names, c.names) {
				t.Errorf("compositions %v, expected %v", names, c.names)
			}
			for _, name := range c.names {
				if got, want := s.HasGuest(name), slices.Contains(c.guests, name); got != want {
					t.Errorf("%s is a guest: %v, expected %v", name, got, want)
				}
			}
			for _, w := range s.Warnings() {
				if c.guests != nil && strings.Contains(w.Want, "no composition calls it") {
					t.Errorf("a guest may call anything: %v", w)
				}
			}
			again, err := Read("-", Options{Stdin: strings.NewReader(string(s.YAML()))})
			if err != nil || !slices.Equal(again.Compositions.Names(), c.names) || again.HasGuests() != s.HasGuests() {
				t.Errorf("what is kept of it reads back otherwise: %v\n%s", err, s.YAML())
			}
		})
	}
}
