// Package depspin is temporary.
package depspin

import (
	_ "github.com/chromedp/chromedp"
	_ "github.com/coder/websocket"
	_ "github.com/fasthttp/websocket"
	_ "github.com/gofiber/fiber/v2"
	_ "github.com/gofiber/fiber/v2/middleware/adaptor"
	_ "github.com/gofiber/fiber/v2/middleware/cors"
	_ "github.com/gofiber/fiber/v2/middleware/recover"
	_ "github.com/gofiber/fiber/v2/utils"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/invopop/jsonschema"
	_ "github.com/nats-io/nats-server/v2/server"
	_ "github.com/nats-io/nats.go"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/prometheus/client_golang/prometheus/collectors"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/testutil"
	_ "github.com/rs/zerolog"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "github.com/swaggest/swgui/v5emb"
	_ "github.com/valyala/fasthttp"
	_ "go.uber.org/goleak"
	_ "go.yaml.in/yaml/v4"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "google.golang.org/protobuf/encoding/protowire"
	_ "google.golang.org/protobuf/proto"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"

	_ "github.com/99designs/gqlgen/graphql/handler"

	_ "github.com/99designs/gqlgen/graphql/handler/extension"

	_ "github.com/99designs/gqlgen/graphql/handler/lru"

	_ "github.com/99designs/gqlgen/graphql/handler/transport"

	_ "github.com/99designs/gqlgen/graphql/introspection"

	_ "github.com/99designs/gqlgen/graphql/playground"

	_ "github.com/vektah/gqlparser/v2/ast"

	_ "github.com/vektah/gqlparser/v2/gqlerror"

	_ "google.golang.org/genproto/googleapis/rpc/errdetails"

	_ "google.golang.org/grpc"

	_ "google.golang.org/grpc/credentials/insecure"

	_ "google.golang.org/grpc/health"

	_ "google.golang.org/grpc/health/grpc_health_v1"

	_ "google.golang.org/grpc/keepalive"

	_ "google.golang.org/grpc/reflection"
)
