package graph

//go:generate go tool -modfile=../tools/go.mod gqlgen generate
