package graph

import (
	"embed"
	"net/http"
	"strings"

	"github.com/polygate/gateway"
)

//go:embed static
var static embed.FS

var pageTypes = map[string]string{
	"explorer.html":    "text/html; charset=utf-8",
	"explorer.js":      "text/javascript; charset=utf-8",
	"explorer.docs.js": "text/javascript; charset=utf-8",
	"explorer.css":     "text/css; charset=utf-8",
}

// pagePolicy forbids everything that the page does not need: foreign scripts, frames.
const pagePolicy = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// wantsPage reports whether a browser opens the interface's own address.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.URL.RawQuery == "" && accepts(r, "text/html")
}

// page answers with a part of the explorer. All of it is in the binary and works
// without a network.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || name == "graphql" {
		name = "explorer.html"
	}
	data, err := static.ReadFile("static/" + name)
	switch {
	case err != nil:
		s.refuse(w, r, http.StatusNotFound, gateway.Errorf(gateway.KindNotFound, "there is no page %q", gateway.Quotable(name)))
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		s.refuse(w, r, http.StatusMethodNotAllowed, gateway.Errorf(gateway.KindMalformed, "a page needs GET"))
		return
	}
	h := w.Header()
	h.Set("Content-Type", pageTypes[name])
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(data)
}
