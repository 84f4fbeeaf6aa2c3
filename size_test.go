package gateway_test

import (
	"reflect"
	"testing"

	"github.com/polygate/gateway"
)

// What a gateway keeps of each attribute is made of these, most of them twice or
// four times. A field more is welcome in Traits and Standing, which are shared.
func TestWhatIsKeptOfEachAttributeStaysSmall(t *testing.T) {
	for _, x := range []struct {
		of   any
		most uintptr
	}{
		{gateway.Value{}, 32},
		{gateway.Sample{}, 88},
		{gateway.Descriptor{}, 56},
		{gateway.Attribute{}, 32},
	} {
		if typ := reflect.TypeOf(x.of); typ.Size() > x.most {
			t.Errorf("a %s takes %d bytes, at most %d are wanted", typ, typ.Size(), x.most)
		}
	}
}
