{{- define "polygate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "polygate.fullname" -}}
{{- $name := include "polygate.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "polygate.selector" -}}
app.kubernetes.io/name: {{ include "polygate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "polygate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "polygate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "polygate.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "polygate.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "polygate.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The component whose pods serve clients. */ -}}
{{- define "polygate.serving" -}}
{{- ternary "frontends" "gateway" (eq .Values.mode "split") }}
{{- end }}

{{- /* Whether there are pods that serve clients, and pods that own instruments: "true" or nothing. */ -}}
{{- define "polygate.serves" -}}
{{- if or (eq .Values.mode "allInOne") .Values.frontendPods.enabled }}true{{ end }}
{{- end }}
{{- define "polygate.drives" -}}
{{- if or (eq .Values.mode "allInOne") .Values.driverPod.enabled }}true{{ end }}
{{- end }}

{{- /* What the "restricted" Pod Security Standard asks for, and a little more. */ -}}
{{- define "polygate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- define "polygate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "polygate.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The secrets that say who we are to an external NATS, and who it is: where they are, as _config.tpl names them. */ -}}
{{- define "polygate.secretMounts" -}}
{{- range $name, $secret := include "polygate.secrets" . | fromYaml }}
- {name: nats-{{ $name }}, mountPath: /etc/nats/{{ $name }}, readOnly: true}
{{- end }}
{{- end }}
{{- define "polygate.secretVolumes" -}}
{{- range $name, $secret := include "polygate.secrets" . | fromYaml }}
- name: nats-{{ $name }}
  secret: {secretName: {{ $secret }}}
{{- end }}
{{- end }}
{{- define "polygate.secrets" -}}
{{- with .Values.nats }}
{{- range $name, $secret := dict "credentials" .credentialsSecret "nkey" .nkeySecret "password" .passwordSecret "tls" .tlsSecret }}
{{- with $secret.name }}
{{ $name }}: {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
