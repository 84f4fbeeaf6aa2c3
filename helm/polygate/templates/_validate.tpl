{{- /* Values that contradict each other. Each message begins with the value that has to change. */ -}}
{{- define "polygate.validate" -}}
{{- $v := .Values }}
{{- $fullname := include "polygate.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $fullname) }}
{{- fail (printf "fullnameOverride: %q cannot be the name of a Service, which begins with a letter and has lower-case letters, digits and dashes; without fullnameOverride it is made of the release's name and nameOverride" $fullname) }}
{{- end }}
{{- if gt (int $v.driverPod.replicas) 1 }}
{{- if not $v.driverPod.lease }}
{{- fail (printf "driverPod.lease: %d pods (driverPod.replicas) would talk to one instrument at the same time; with true one does, and the others stand by. Clients are served by many with mode: split and frontendPods.replicas" (int $v.driverPod.replicas)) }}
{{- end }}
{{- if and (eq $v.serial.access "hostPath") (not $v.driverPod.nodeSelector) }}
{{- fail "driverPod.nodeSelector: with serial.access: hostPath all of driverPod.replicas have to be on the node that has the port" }}
{{- end }}
{{- end }}
{{- if and $v.driverPod.lease (eq $v.nats.mode "embedded") }}
{{- fail "driverPod.lease: it is kept in a NATS that all pods reach, and nats.mode: embedded is within one; nats.mode has to be chart or external" }}
{{- end }}
{{- if lt (int $v.driverPod.replicas) 1 }}
{{- fail "driverPod.replicas: it has to be 1; with mode: split, driverPod.enabled: false leaves the pod out" }}
{{- end }}
{{- if eq $v.mode "split" }}
{{- if eq $v.nats.mode "embedded" }}
{{- fail "nats.mode: embedded is within one pod, and mode: split has several; it has to be chart or external" }}
{{- end }}
{{- if not (or $v.driverPod.enabled $v.frontendPods.enabled) }}
{{- fail "driverPod.enabled: both it and frontendPods.enabled are false, which leaves nothing to run" }}
{{- end }}
{{- if and (not $v.driverPod.enabled) $v.config }}
{{- fail "config: without driverPod.enabled nobody owns its devices" }}
{{- end }}
{{- with $v.frontendPods.autoscaling }}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) }}
{{- fail (printf "frontendPods.autoscaling.minReplicas: %d is more than maxReplicas, %d" (int .minReplicas) (int .maxReplicas)) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (eq $v.nats.mode "external") (not $v.nats.url) }}
{{- fail "nats.url: nats.mode: external needs it, for example nats://nats:4222" }}
{{- end }}
{{- if and $v.nats.url (ne $v.nats.mode "external") }}
{{- fail (printf "nats.url: nats.mode: %s does not use it; for a NATS outside set nats.mode: external" $v.nats.mode) }}
{{- end }}
{{- range $key := list "credentialsSecret" "nkeySecret" "passwordSecret" "tlsSecret" }}
{{- if and (index $v.nats $key).name (ne $v.nats.mode "external") }}
{{- fail (printf "nats.%s: it is for nats.mode: external" $key) }}
{{- end }}
{{- end }}
{{- $identity := "" }}
{{- range $key := list "credentialsSecret" "nkeySecret" "passwordSecret" }}
{{- if (index $v.nats $key).name }}
{{- if $identity }}
{{- fail (printf "nats.%s: nats.%s is set, too; one of them says who we are" $key $identity) }}
{{- end }}
{{- $identity = $key }}
{{- end }}
{{- end }}
{{- if ne (empty $v.nats.user) (empty $v.nats.passwordSecret.name) }}
{{- fail "nats.user: it and nats.passwordSecret go together" }}
{{- end }}
{{- if and $v.nats.tlsSecret.clientCertificate (not $v.nats.tlsSecret.name) }}
{{- fail "nats.tlsSecret.clientCertificate: it is in nats.tlsSecret, which has no name" }}
{{- end }}
{{- if and (eq $v.serial.access "devicePlugin") (not $v.serial.resource) }}
{{- fail "serial.resource: serial.access: devicePlugin needs the name of the resource, for example squat.ai/serial" }}
{{- end }}
{{- if and $v.serial.resource (ne $v.serial.access "devicePlugin") }}
{{- fail "serial.resource: it is for serial.access: devicePlugin" }}
{{- end }}
{{- $enabled := list }}
{{- range $name, $frontend := $v.frontends }}
{{- if $frontend.enabled }}
{{- range $other := $enabled }}
{{- if eq (int $other.port) (int $frontend.port) }}
{{- fail (printf "frontends.%s.port: %d is that of frontends.%s, too" $name (int $frontend.port) $other.name) }}
{{- end }}
{{- end }}
{{- if eq (int $frontend.port) 9464 }}
{{- fail (printf "frontends.%s.port: 9464 is that of health checks and metrics" $name) }}
{{- end }}
{{- $enabled = append $enabled (dict "name" $name "port" $frontend.port) }}
{{- end }}
{{- end }}
{{- if and (include "polygate.serves" .) (not $enabled) }}
{{- fail "frontends: none is enabled, so nobody could be served" }}
{{- end }}
{{- with $v.frontends.ca }}
{{- if and .service.nodePort (ne .service.type "NodePort") }}
{{- fail "frontends.ca.service.nodePort: it is for frontends.ca.service.type: NodePort" }}
{{- end }}
{{- if and .advertise (eq .expose "nameServer") }}
{{- fail "frontends.ca.advertise: searches over TCP, which frontends.ca.expose: nameServer stands for, are answered with the address that the client used" }}
{{- end }}
{{- end }}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) }}
{{- fail "ingress.hosts: ingress.enabled needs at least one" }}
{{- end }}
{{- if and $v.ingress.enabled (not $v.frontends.rest.enabled) }}
{{- fail "ingress.enabled: it is for REST, and frontends.rest.enabled is false" }}
{{- end }}
{{- if and $v.grpcRoute.enabled (not $v.grpcRoute.parentRefs) }}
{{- fail "grpcRoute.parentRefs: grpcRoute.enabled needs the gateway that it is attached to" }}
{{- end }}
{{- if and $v.grpcRoute.enabled (not $v.frontends.grpc.enabled) }}
{{- fail "grpcRoute.enabled: frontends.grpc.enabled is false" }}
{{- end }}
{{- include "polygate.validateConfig" . }}
{{- end }}

{{- /* The text of `config`: what only the chart can know. The rest is told by `gateway check`, with line and column. */ -}}
{{- define "polygate.validateConfig" -}}
{{- $config := fromYaml .Values.config }}
{{- if not (hasKey $config "Error") }}
{{- range $section, $instead := dict "bus" "nats" "frontends" "frontends" "ops" "metrics" }}
{{- if hasKey $config $section }}
{{- fail (printf "config: its section %q is written by the chart; set %s in the values instead" $section $instead) }}
{{- end }}
{{- end }}
{{- if kindIs "map" $config.links }}
{{- range $name, $link := $config.links }}
{{- if kindIs "map" $link }}
{{- if and $link.port (eq $.Values.serial.access "none") }}
{{- fail (printf "serial.access: the link %q in config uses the port %v of the node; set hostPath or devicePlugin" $name $link.port) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
