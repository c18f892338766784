package upstream

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestListenErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	for _, test := range []struct {
		name      string
		addresses []Address
		want      []string
	}{
		{"one that is in use", []Address{{"a", 0, taken.Addr().String()}},
			[]string{`serve dependency "a" on ` + taken.Addr().String() + `: `, "address already in use: another process listens there; end it, or choose another port, or 0 for a free one"}},
		{"two of one address", []Address{{"a", 0, address}, {"b", 1, address}},
			[]string{`serve dependency "b" on ` + address, `dependency "a" has it already`}},
		{"an address of another machine", []Address{{"a", 0, "192.0.2.1:0"}}, []string{"this machine does not have that address"}},
		{"no port", []Address{{"a", 0, "127.0.0.1"}}, []string{`serve dependency "a" on 127.0.0.1`, "expected a host and a port"}},
		{"all at once", []Address{{"a", 0, "127.0.0.1"}, {"b", 1, address}, {"c", 2, taken.Addr().String()}}, []string{`dependency "a"`, `dependency "c"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Listen(test.addresses, always(Reply{}))
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: want %q", err, want)
				}
			}
			again, err := net.Listen("tcp", address) // all or none
			if err != nil {
				t.Fatal(err)
			}
			again.Close()
		})
	}
	err = explain(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}, Address{"a", 0, "127.0.0.1:80"}, nil)
	if want := "choose one from 1024 on"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v: want %q", err, want)
	}
}

// A host that is left out is loopback's; every URL reaches this machine.
func TestURLs(t *testing.T) {
	for _, test := range []struct {
		listen, host string
		loopback     bool
	}{
		{":0", "127.0.0.1", true},
		{"127.0.0.1:0", "127.0.0.1", true},
		{"0.0.0.0:0", "127.0.0.1", false},
	} {
		s, err := Listen([]Address{{"a", 0, test.listen}}, always(Reply{}))
		if err != nil {
			t.Fatal(err)
		}
		if url := s.URL(0); !strings.HasPrefix(url, "http://"+test.host+":") {
			t.Errorf("%s: %s", test.listen, url)
		}
		if got := s.ports[0].listener.Addr().(*net.TCPAddr).IP.IsLoopback(); got != test.loopback {
			t.Errorf("%s: loopback is %v", test.listen, got)
		}
		well(t, s)
		s.Close()
	}
	if got := url(&net.TCPAddr{IP: net.IPv6unspecified, Port: 80}); got != "http://[::1]:80" {
		t.Error(got)
	}
}
