module github.com/polygate/gateway/tools/sbom

go 1.26.0
