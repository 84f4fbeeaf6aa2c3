package ca

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/ca/cawire"
)

// A question is one read of a channel.
type question struct {
	rtyp, name, field string
	typ               cawire.Type
	count             uint32
}

func (q question) String() string {
	return fmt.Sprintf("%s.%s (%s) as %v[%d]", q.name, q.field, q.rtyp, q.typ, q.count)
}

// An answer is what a server says to a read.
type answer struct {
	status  cawire.Status
	count   uint32
	typ     cawire.Type
	payload []byte // without the time, which differs from run to run
}

// same tells whether two answers are the same to the byte. There are no bytes
// that mean anything in one that failed.
func (a answer) same(b answer) bool {
	return a.status == b.status && (a.status != cawire.ECANormal || a.count == b.count && bytes.Equal(a.payload, b.payload))
}

// content takes an answer apart.
func (a answer) content() (meta cawire.Meta, values cawire.Values) {
	_ = cawire.DecodeDBR(a.typ, a.count, a.payload, &meta, &values)
	return meta, values
}

func (a answer) String() string {
	if a.status != cawire.ECANormal {
		return a.status.String()
	}
	meta, values := a.content()
	return fmt.Sprintf("%d elements %+v of %+v", a.count, values, meta)
}

// ask reads a channel in all types, with several counts.
func (c *tester) ask(ch *cawire.CreateChanReply, q question) map[question]answer {
	c.t.Helper()
	counts := []uint32{0, 1, 2}
	if ch.Count > 1 {
		counts = append(counts, ch.Count, ch.Count+1)
	}
	questions := map[uint32]question{}
	var requests []cawire.Message
	for q.typ = range cawire.DBRClassName + 1 {
		if form := q.typ.Form(); q.field != "VAL" && (form == cawire.Sts || form == cawire.Gr) {
			continue // a part of what Ctrl has
		}
		for _, q.count = range counts {
			ioid := c.id()
			questions[ioid] = q
			requests = append(requests, &cawire.ReadNotifyRequest{Type: q.typ, Count: q.count, SID: ch.SID, IOID: ioid})
		}
	}
	_ = c.conn.SetDeadline(time.Now().Add(limit))
	c.mustSend(requests...)
	answers := map[question]answer{}
	for len(questions) > 0 {
		reply, ok := c.mustReceive().(*cawire.ReadNotifyReply)
		if !ok {
			continue
		}
		a := answer{status: reply.Status, count: reply.Count, typ: reply.Type, payload: reply.Payload}
		if a.typ.Form() == cawire.Time && len(a.payload) >= 12 {
			clear(a.payload[4:12])
		}
		answers[questions[reply.IOID]] = a
		delete(questions, reply.IOID)
	}
	return answers
}

// fields lists the names of all fields of a record type.
func fields(rtyp string) []string {
	names := []string{"VAL"}
	for _, table := range [][]field{commonFields, typeFields[rtyp], groupFields[groups[rtyp]]} {
		for i := range table {
			names = append(names, table[i].name)
		}
	}
	return names
}

// A difference is a kind of answers that are not those of an IOC, and why.
type difference struct {
	why  string
	fits func(q question, ours, theirs answer) bool
	seen bool
}

func readDifferences() []difference {
	oneOf := func(list ...string) func(question, answer, answer) bool {
		return func(q question, _, _ answer) bool { return slices.Contains(list, strings.TrimSuffix(q.field, "$")) }
	}
	failed := func(a answer) bool { return a.status == cawire.ECAGetFail }
	return []difference{
		{why: "how a record is processed differs", fits: oneOf("TSE", "PINI", "SCAN", "DTYP", "OMSL")},
		{why: "UTAG is the sequence number", fits: oneOf("UTAG")},
		{why: "a number without a state is INVALID", fits: oneOf("UNSV")},
		{why: "an alarm says why", fits: oneOf("AMSG")},
		{why: "the alarm that is to be acknowledged is the present one", fits: func(q question, ours, theirs answer) bool {
			if q.field == "ACKS" {
				return true
			}
			return equalBut(ours, theirs, func(m *cawire.Meta) { m.AckS = 0 })
		}},
		{why: "limits are not wrapped", fits: func(q question, ours, theirs answer) bool {
			if n := q.typ.Native(); n != cawire.DBRChar && n != cawire.DBRShort && n != cawire.DBRLong {
				return false
			}
			return equalBut(ours, theirs, func(m *cawire.Meta) { m.Limits = cawire.Limits{} })
		}},
		{why: "64 bits are not wrapped", fits: func(q question, ours, _ answer) bool {
			return strings.HasPrefix(q.rtyp, "int64") && q.field == "VAL" && failed(ours)
		}},
		{why: "of a text that is no number the first digits are none either", fits: func(q question, ours, theirs answer) bool {
			text := q.rtyp == "aai" && q.field == "VAL" || strings.HasSuffix(q.field, "ST") || strings.HasSuffix(q.field, "NAM")
			return text && failed(ours) && !failed(theirs)
		}},
		{why: "a text is a number as an enum as well as in every other type", fits: func(q question, ours, theirs answer) bool {
			return q.typ.Native() == cawire.DBREnum && !failed(ours) && failed(theirs)
		}},
		{why: "the text of a number that is too large for DBR_FLOAT is the largest there is, as any other number", fits: func(q question, ours, theirs answer) bool {
			return strings.HasPrefix(q.rtyp, "ls") && q.field == "VAL" && q.typ.Native() == cawire.DBRFloat && failed(theirs)
		}},
		{why: "base converts texts of these records to enums by their states, which texts are none of", fits: func(q question, _, _ answer) bool {
			return strings.HasPrefix(q.rtyp, "mbb") && q.typ.Native() == cawire.DBREnum && q.field != "VAL"
		}},
		{why: "base reads beyond the name of the record type", fits: func(q question, _, _ answer) bool {
			return q.typ == cawire.DBRClassName || strings.HasPrefix(q.field, "RTYP")
		}},
	}
}

// TestReadsAsAnIOCAnswers asks for every field of every record type as every
// type, and compares what is in the answers.
func TestReadsAsAnIOCAnswers(t *testing.T) {
	common, rare := twins(), moreTwins()
	pair := startTwins(t, append(common, rare...))
	ours := dialTester(t, pair.server.Addr().String(), cawire.MinorCurrent)
	theirs := dialTester(t, pair.ioc, cawire.MinorCurrent)
	differences := readDifferences()
	asked, wrong := 0, 0
	compare := func(rec *record, field string) {
		a, errA := ours.open(rec.name + "." + field)
		b, errB := theirs.open(rec.name + "." + field)
		if errA != nil && (errB != nil || strings.HasSuffix(field, "$")) {
			return // an IOC finds a '$' that it then does not open
		}
		if errA != nil || errB != nil {
			t.Fatalf("%s.%s: %v, with an IOC %v", rec.name, field, errA, errB)
		}
		if a.Type != b.Type || a.Count != b.Count {
			t.Errorf("%s.%s is %v[%d], with an IOC %v[%d]", rec.name, field, a.Type, a.Count, b.Type, b.Count)
		}
		q := question{rtyp: rec.rtyp, name: rec.name, field: field}
		got, want := ours.ask(a, q), theirs.ask(b, q)
		for q, theirs := range want {
			asked++
			if ours := got[q]; !ours.same(theirs) && ours.String() != theirs.String() && !explained(differences, q, ours, theirs) {
				if wrong++; wrong < 20 {
					t.Errorf("%v:\n%v, with an IOC\n%v", q, ours, theirs)
				}
			}
		}
	}
	known := map[string]bool{} // record types whose fields have been compared
	for _, name := range slices.Sorted(maps.Keys(pair.server.directory.listed)) {
		for _, name := range []string{name, name + ReadbackSuffix} {
			rec := pair.server.directory.record(name)
			if rec == nil || rec.path.Device() != "t" {
				continue
			}
			list := fields(rec.rtyp)
			if known[rec.rtyp] || slices.ContainsFunc(rare, func(x twin) bool { return x.desc.Path == rec.path }) {
				list = list[:1]
			}
			known[rec.rtyp] = known[rec.rtyp] || len(list) > 1
			for _, f := range list {
				compare(rec, f)
				compare(rec, f+"$")
			}
		}
	}
	t.Logf("%d reads, %d differ without a reason", asked, wrong)
	for _, d := range differences {
		if !d.seen {
			t.Errorf("nothing differs because %s", d.why)
		}
	}
}

// equalBut tells whether nothing differs but what wipe wipes out.
func equalBut(a, b answer, wipe func(*cawire.Meta)) bool {
	ma, va := a.content()
	mb, vb := b.content()
	wipe(&ma)
	wipe(&mb)
	return a.status == b.status && a.count == b.count && fmt.Sprint(ma, va) == fmt.Sprint(mb, vb)
}

func explained(differences []difference, q question, ours, theirs answer) bool {
	for i := range differences {
		if differences[i].fits(q, ours, theirs) {
			differences[i].seen = true
			return true
		}
	}
	return false
}
