{{- /*
The files that polygate runs with, as the data of a ConfigMap: gateway.yaml in mode allInOne, drivers.yaml and
frontends.yaml in mode split. The ConfigMap of the pods and that of the check before have the same. The text of `config`
comes first, so that the lines that the check names are those of the user's file.
*/ -}}
{{- define "polygate.files" -}}
{{- if eq .Values.mode "allInOne" }}
gateway.yaml: |
  {{- include "polygate.instruments" . | nindent 2 }}
  {{- include "polygate.commonFile" (dict "root" . "drives" true) | nindent 2 }}
  {{- include "polygate.frontendsFile" . | nindent 2 }}
{{- else }}
{{- if .Values.driverPod.enabled }}
drivers.yaml: |
  {{- include "polygate.instruments" . | nindent 2 }}
  {{- include "polygate.commonFile" (dict "root" . "drives" true) | nindent 2 }}
  frontends: {}
{{- end }}
{{- if .Values.frontendPods.enabled }}
frontends.yaml: |
  {{- include "polygate.commonFile" (dict "root" . "drives" false) | nindent 2 }}
  {{- include "polygate.frontendsFile" . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The operations listener, and the bus. Called with a dict: root, and drives: whether instruments are owned. */ -}}
{{- define "polygate.commonFile" -}}
ops: {listen: "0.0.0.0:9464"}
{{- $bus := dict }}
{{- if and .drives .root.Values.driverPod.lease }}
{{- /* Releases of the same name in other namespaces may share the NATS. */ -}}
{{- $_ := set $bus "lease" (printf "%s-%s" .root.Release.Namespace (include "polygate.fullname" .root)) }}
{{- end }}
{{- with .root.Values.nats }}
{{- if eq .mode "chart" }}
{{- $_ := set $bus "url" (printf "nats://%s-nats:4222" (include "polygate.fullname" $.root)) }}
{{- else if eq .mode "external" }}
{{- $_ := set $bus "url" .url }}
{{- end }}
{{- with .prefix }}{{ $_ := set $bus "prefix" . }}{{ end }}
{{- if .credentialsSecret.name }}{{ $_ := set $bus "credentials" (printf "/etc/nats/credentials/%s" .credentialsSecret.key) }}{{ end }}
{{- if .nkeySecret.name }}{{ $_ := set $bus "nkey" (printf "/etc/nats/nkey/%s" .nkeySecret.key) }}{{ end }}
{{- if .passwordSecret.name }}
{{- $_ := set $bus "user" .user }}
{{- $_ := set $bus "password_file" (printf "/etc/nats/password/%s" .passwordSecret.key) }}
{{- end }}
{{- if .tlsSecret.name }}
{{- $tls := dict "ca" "/etc/nats/tls/ca.crt" }}
{{- if .tlsSecret.clientCertificate }}
{{- $_ := set $tls "cert" "/etc/nats/tls/tls.crt" }}
{{- $_ := set $tls "key" "/etc/nats/tls/tls.key" }}
{{- end }}
{{- $_ := set $bus "tls" $tls }}
{{- end }}
{{- end }}
{{- with $bus }}
bus:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "polygate.frontendsFile" -}}
frontends:
{{- range $name, $frontend := .Values.frontends }}
{{- if $frontend.enabled }}
{{- $listen := printf "0.0.0.0:%d" (int $frontend.port) }}
{{- if and (eq $name "ca") $frontend.advertise }}
  ca:
    listen: [{address: {{ $listen | quote }}, advertise: {{ $frontend.advertise | quote }}}]
{{- else }}
  {{ $name }}:
    listen: {{ $listen | quote }}
{{- end }}
{{- with $frontend.settings }}
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The text of `config`, with the device for `helm test` before the first one, at its indentation. */ -}}
{{- define "polygate.instruments" -}}
{{- $text := trimSuffix "\n" .Values.config }}
{{- if not .Values.test.softAttribute }}
{{- $text }}
{{- else }}
{{- $device := `polygate-test: {driver: soft, description: For tests, attributes: {value: {kind: float64, access: rw}}}` }}
{{- $first := `(?m)^devices:[ \t]*(#.*)?\n(([ \t]*(#.*)?\n)*)( +)` }}
{{- if regexMatch $first $text }}
{{- regexReplaceAll $first $text (printf "devices:\n${2}${5}%s\n${5}" $device) }}
{{- else if regexMatch `(?m)^devices:` $text }}
{{- fail "test.softAttribute: the section devices of config has to be written one device a line, so that another can be added" }}
{{- else }}
{{- printf "%s\ndevices:\n  %s" $text $device | trim }}
{{- end }}
{{- end }}
{{- end }}
