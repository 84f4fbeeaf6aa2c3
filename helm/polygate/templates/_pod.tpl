{{- /*
The template of a pod. Called with a dict: root, component (gateway, drivers or frontends), settings (driverPod or
frontendPods), serves and drives: whether clients are served, and whether instruments are owned.
*/ -}}
{{- define "polygate.pod" -}}
{{- $v := .root.Values }}
{{- $file := printf "%s.yaml" .component }}
{{- $hostNetwork := and .serves $v.frontends.ca.enabled (eq $v.frontends.ca.expose "hostNetwork") }}
{{- $serial := ternary $v.serial.access "none" .drives }}
metadata:
  annotations:
    # New pods when the file changes.
    checksum/config: {{ get (include "polygate.files" .root | fromYaml) $file | sha256sum }}
    {{- with .settings.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "polygate.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    {{- with .settings.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "polygate.serviceAccount" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  # It ends the puts under way and stops within ten seconds.
  terminationGracePeriodSeconds: {{ ternary 15 (add 15 (int (default 0 .settings.drainSeconds))) .drives }}
  {{- if $hostNetwork }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  securityContext:
    {{- include "polygate.podSecurity" .root | nindent 4 }}
    {{- if ne $serial "none" }}
    supplementalGroups: [{{ $v.serial.group }}]
    {{- end }}
  {{- with include "polygate.pullSecrets" .root }}{{ trim . | nindent 2 }}{{ end }}
  containers:
    - name: polygate
      image: {{ include "polygate.image" .root }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args: [run, -c, /etc/polygate/{{ $file }}, --log-level, {{ $v.logLevel }}]
      {{- if and .serves $v.frontends.ca.enabled (not $hostNetwork) }}
      env:
        # Beacons would carry the address of the pod, which clients outside cannot use.
        - {name: EPICS_CAS_AUTO_BEACON_ADDR_LIST, value: "NO"}
      {{- end }}
      ports:
        - {name: ops, containerPort: 9464}
        {{- if .serves }}
        {{- range $name, $frontend := $v.frontends }}
        {{- if $frontend.enabled }}
        - {name: {{ $name }}, containerPort: {{ $frontend.port }}}
        {{- if and (eq $name "ca") (ne $frontend.expose "nameServer") }}
        - {name: ca-search, containerPort: {{ $frontend.port }}, protocol: UDP}
        {{- end }}
        {{- end }}
        {{- end }}
        {{- end }}
      # A lost instrument or NATS never fails /healthz, so nothing is restarted for it. /readyz fails without NATS alone.
      startupProbe:
        httpGet: {path: /healthz, port: ops}
        periodSeconds: 1
        timeoutSeconds: 3
        failureThreshold: 60
      livenessProbe:
        httpGet: {path: /healthz, port: ops}
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 3
      readinessProbe:
        httpGet: {path: /readyz, port: ops}
        periodSeconds: 2
        timeoutSeconds: 3
      {{- if and (not .drives) .settings.drainSeconds }}
      lifecycle:
        preStop: {sleep: {seconds: {{ .settings.drainSeconds }}}}
      {{- end }}
      # The last words of one that could not start are in the state of the pod.
      terminationMessagePolicy: FallbackToLogsOnError
      securityContext:
        {{- if eq $serial "hostPath" }}
        # Only a privileged container may open devices of the node that were not there when it started. It is not root.
        privileged: true
        readOnlyRootFilesystem: true
        {{- else }}
        {{- include "polygate.containerSecurity" .root | nindent 8 }}
        {{- end }}
      {{- $resources := deepCopy .settings.resources }}
      {{- if eq $serial "devicePlugin" }}
      {{- $_ := set $resources "limits" (merge (dict $v.serial.resource 1) (default dict $resources.limits)) }}
      {{- end }}
      resources:
        {{- toYaml $resources | nindent 8 }}
      {{- if eq $serial "hostPath" }}
      # The usual place is below /dev, which is the node's here.
      terminationMessagePath: /run/termination-log
      {{- end }}
      volumeMounts:
        - {name: config, mountPath: /etc/polygate, readOnly: true}
        {{- if eq $serial "hostPath" }}
        - {name: dev, mountPath: /dev}
        {{- end }}
        {{- with include "polygate.secretMounts" .root | trim }}{{ . | nindent 8 }}{{ end }}
  volumes:
    - name: config
      configMap: {name: {{ include "polygate.fullname" .root }}}
    {{- if eq $serial "hostPath" }}
    - name: dev
      hostPath: {path: /dev, type: Directory}
    {{- end }}
    {{- with include "polygate.secretVolumes" .root | trim }}{{ . | nindent 4 }}{{ end }}
  {{- range $key := list "nodeSelector" "tolerations" "affinity" }}
  {{- with index $.settings $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}
