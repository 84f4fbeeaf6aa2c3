// Package model is what the GraphQL schema's types are in Go: small views on the
// gateway's own nouns, made at the edge and thrown away. Nothing here is
// changed after it was made.
package model
