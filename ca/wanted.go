package ca

import "github.com/polygate/gateway/ca/cawire"

// want keeps a name that is nobody's yet, so that its client hears of it as soon
// as it is somebody's. Clients that search on circuits hear no beacons: they
// would search again only when their own pause is over, which doubles each time,
// up to minutes.
func (c *circuit) want(m *cawire.SearchRequest) {
	if len(m.Name) > maxWantedName {
		return
	}
	if c.wanted == nil {
		c.wanted = map[uint32]string{}
	}
	if len(c.wanted) < maxWanted {
		c.wanted[m.CID] = string(m.Name)
	}
}

// answerWanted tells the client of names that have been found since.
func (c *circuit) answerWanted() {
	for cid, name := range c.wanted {
		if _, found := c.server.directory.find(name); found {
			delete(c.wanted, cid)
			c.found(cid)
		}
	}
}

// found answers a search.
func (c *circuit) found(cid uint32) {
	c.send(&cawire.SearchReply{Port: c.server.portFor(c.conn.LocalAddr()), CID: cid})
}
