package workload

// The tables that names, images, variables and annotations are drawn from.

var (
	services = []string{
		"checkout", "payments", "catalog", "search", "pricing", "inventory", "shipping", "identity", "sessions", "ledger",
		"notifications", "recommendations", "reviews", "media", "geocoder", "fraud", "invoicing", "loyalty", "returns", "analytics",
		"telemetry", "experiments", "mailer", "partners", "subscriptions", "support", "translation", "warehouse", "billing", "exports",
	}
	components    = []string{"api", "worker", "web", "gateway", "consumer", "scheduler", "indexer", "proxy", "cache", "backend"}
	teams         = []string{"storefront", "money-movement", "platform", "data-foundations", "growth", "logistics", "trust-and-safety", "core-infra"}
	tiers         = []string{"frontend", "backend", "batch", "edge", "data"}
	environments  = []string{"prod", "staging", "canary", "load-test"}
	registries    = []string{"registry.internal.example.com", "europe-docker.pkg.example.dev/shop-prod", "ghcr.example.io/shop"}
	zones         = []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
	instanceTypes = []string{"m7i.4xlarge", "m7g.8xlarge", "c7i.4xlarge", "r7i.2xlarge"}
	sideNames     = []string{"envoy", "log-forwarder", "config-reloader", "metrics-adapter", "token-refresher"}
	bareNames     = []string{"toolbox", "migration-runner", "load-probe", "debug-shell", "backfill"}
	namespaces    = []string{"prod", "staging", "payments", "storefront", "data", "platform", "edge", "batch"}
)

// envChoice is one environment variable that a container may have; a %d takes a number of the workload's own.
type envChoice struct{ name, value string }

var envChoices = []envChoice{
	{"LOG_LEVEL", "info"},
	{"LOG_FORMAT", "json"},
	{"HTTP_PORT", "8080"},
	{"GRPC_PORT", "9090"},
	{"DATABASE_URL", "postgres://app@pg-primary.data.svc.cluster.local:5432/app_%d?sslmode=verify-full&pool_max_conns=20"},
	{"REDIS_ADDRESS", "redis-%d.cache.svc.cluster.local:6379"},
	{"KAFKA_BROKERS", "kafka-0.kafka.data.svc:9092,kafka-1.kafka.data.svc:9092,kafka-2.kafka.data.svc:9092"},
	{"KAFKA_CONSUMER_GROUP", "consumer-group-%d"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel-collector.observability.svc.cluster.local:4317"},
	{"OTEL_RESOURCE_ATTRIBUTES", "service.instance=%d,deployment.environment=prod,cloud.region=eu-west-1"},
	{"FEATURE_FLAGS_ENDPOINT", "https://flags.internal.example.com/v2/environments/%d"},
	{"GOMEMLIMIT", "900MiB"},
	{"GOMAXPROCS", "2"},
	{"REQUEST_TIMEOUT", "15s"},
	{"MAX_IN_FLIGHT", "256"},
	{"CACHE_TTL_SECONDS", "300"},
	{"S3_BUCKET", "shop-artifacts-%d"},
	{"AWS_REGION", "eu-west-1"},
	{"ENABLE_PROFILING", "true"},
	{"SHUTDOWN_GRACE", "25s"},
	{"RATE_LIMIT_RPS", "500"},
	{"TZ", "UTC"},
}

// templateAnnotations are what a workload's template may carry besides its checksums.
var templateAnnotations = []envChoice{
	{"prometheus.io/scrape", "true"},
	{"prometheus.io/path", "/metrics"},
	{"prometheus.io/port", "9102"},
	{"cluster-autoscaler.kubernetes.io/safe-to-evict", "true"},
	{"kubectl.kubernetes.io/default-container", "app"},
	{"logs.example.com/pipeline", `{"source":"container","parser":"json","multiline":{"pattern":"^\\{","negate":true},"drop":["healthz","readyz"],"index":"app-%d"}`},
	{"vault.example.com/template", `{{- with secret "database/creds/app-%d" -}}postgres://{{ .Data.username }}:{{ .Data.password }}@pg-primary.data.svc:5432/app{{- end }}`},
	{"ownership.example.com/contact", "https://runbooks.internal.example.com/services/%d#on-call"},
}

// handoverWords fill the annotations that single pods have of their own.
var handoverWords = []string{
	"drained", "requeued", "partition", "lease", "acquired", "released", "checkpoint", "offset", "shard", "rebalanced",
	"leader", "follower", "snapshot", "restored", "warmed", "evicted", "promoted", "demoted", "replayed", "verified",
}
