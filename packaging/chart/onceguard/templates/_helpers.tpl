{{- define "onceguard.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "onceguard.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "onceguard.labels" -}}
{{ include "onceguard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "onceguard.image" -}}
{{- $repository := required "image.repository: where you pushed the image that ./dev image makes" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* A table of TOML: JSON's texts, numbers and lists are TOML's. */}}
{{- define "onceguard.table" -}}
{{- range $name, $value := . }}
{{ $name }} = {{ toJson $value }}
{{- end }}
{{- end -}}

{{/* What no schema can say of the values. */}}
{{- define "onceguard.checked" -}}
{{- $store := .Values.store -}}
{{- if and (eq $store.kind "sqlite") (gt (int .Values.replicas) 1) -}}
{{- fail "store.kind: sqlite is one file of one pod: each of several replicas would run a retry again. Set replicas: 1, or take postgresql, redis or dynamodb" -}}
{{- end -}}
{{- if and (ne $store.kind "sqlite") (not $store.url) (not $store.secret.name) -}}
{{- fail "store.secret.name: the Secret with the URL of the store: kubectl create secret generic onceguard-store --from-literal=url=postgresql://…" -}}
{{- end -}}
{{- if regexMatch "//[^/@]*:[^/@]+@" $store.url -}}
{{- fail "store.url: a password belongs into a Secret: store.secret.name" -}}
{{- end -}}
{{- range list "drain" "drain_delay" "admin" "admin_token_file" -}}
{{- if hasKey $.Values.gateway . -}}
{{- fail (printf "gateway.%s: the chart sets it, so that probes and grace period fit: see drain and admin" .) -}}
{{- end -}}
{{- end -}}
{{- if not .Values.admin.tokenSecret.name -}}
{{- fail "admin.tokenSecret.name: probes need the admin port, and that needs tokens: kubectl create secret generic onceguard-admin --from-literal=tokens=\"viewer $(openssl rand -hex 32) prometheus\"" -}}
{{- end -}}
{{- if and (eq .Values.mode "sidecar") (not .Values.app) -}}
{{- fail "app: the container that the sidecar stands before" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tokenSecret.name) -}}
{{- fail "serviceMonitor.tokenSecret.name: Prometheus needs the token of a viewer, as a Secret" -}}
{{- end -}}
{{- end -}}

{{/* onceguard.toml. In a sidecar the application has ended before, so nothing is to be waited for. */}}
{{- define "onceguard.toml" -}}
{{- $values := .Values -}}
{{- $admin := dict "admin" "0.0.0.0:8081" "admin_token_file" "/etc/onceguard/admin/tokens" -}}
{{- $own := dict -}}
{{- if ne $values.mode "consume" -}}
{{- $delay := eq $values.mode "sidecar" | ternary 0 $values.drain.delaySeconds -}}
{{- $own = dict "listen" "0.0.0.0:8080" "state_dir" "/var/lib/onceguard" "drain" (printf "%ds" (int $values.drain.seconds)) "drain_delay" (printf "%ds" (int $delay)) -}}
{{- end -}}
{{- $store := dict -}}
{{- if eq $values.store.kind "sqlite" -}}
{{- $store = dict "url" "sqlite:/var/lib/onceguard/keys.db" -}}
{{- else if $values.store.url -}}
{{- $store = dict "url" $values.store.url -}}
{{- else -}}
{{- $store = dict "url_file" "/etc/onceguard/store/url" -}}
{{- end -}}
{{- $gateway := eq $values.mode "consume" | ternary (omit $values.gateway "threads") $values.gateway -}}
[gateway]
{{- include "onceguard.table" (mergeOverwrite $own $admin $gateway) }}

[store]
{{- include "onceguard.table" (mergeOverwrite $store $values.store.options) }}

{{ required "config: the tables [[upstream]] and [[route]], or [[consume]], as TOML" $values.config }}
{{- end -}}

{{/* Its files. */}}
{{- define "onceguard.mounts" -}}
- {name: config, mountPath: /etc/onceguard/onceguard.toml, subPath: onceguard.toml, readOnly: true}
- {name: admin, mountPath: /etc/onceguard/admin, readOnly: true}
{{- if and .Values.store.secret.name (ne .Values.store.kind "sqlite") }}
- {name: store, mountPath: /etc/onceguard/store, readOnly: true}
{{- end }}
- {name: state, mountPath: /var/lib/onceguard}
- {name: tmp, mountPath: /tmp}
{{- range $name, $secret := .Values.secrets }}
- {name: {{ printf "secret-%s" $name }}, mountPath: {{ printf "/etc/onceguard/secrets/%s" $name }}, readOnly: true}
{{- end }}
{{- end -}}

{{- define "onceguard.volumes" -}}
- name: config
  configMap: {name: {{ include "onceguard.name" . }}}
- name: admin
  secret:
    secretName: {{ .Values.admin.tokenSecret.name }}
    defaultMode: 0440
    items: [{key: {{ .Values.admin.tokenSecret.key }}, path: tokens}]
{{- if and .Values.store.secret.name (ne .Values.store.kind "sqlite") }}
{{ include "onceguard.storeVolume" . }}
{{- end }}
- name: state
{{- if eq .Values.store.kind "sqlite" }}
  persistentVolumeClaim: {claimName: {{ include "onceguard.name" . }}}
{{- else }}
  emptyDir: {}
{{- end }}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- range $name, $secret := .Values.secrets }}
- name: {{ printf "secret-%s" $name }}
  secret: {secretName: {{ $secret }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- define "onceguard.storeVolume" -}}
- name: store
  secret:
    secretName: {{ .Values.store.secret.name }}
    defaultMode: 0440
    items: [{key: {{ .Values.store.secret.key }}, path: url}]
{{- end -}}

{{- define "onceguard.confined" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* The container, in each mode. */}}
{{- define "onceguard.container" -}}
name: onceguard
image: {{ include "onceguard.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [{{ eq .Values.mode "consume" | ternary "consume" "gateway" }}, --config, /etc/onceguard/onceguard.toml]
{{- with .Values.env }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  {{- if ne .Values.mode "consume" }}
  - {name: http, containerPort: 8080}
  {{- end }}
  - {name: admin, containerPort: 8081}
startupProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 1
  failureThreshold: 60
readinessProbe:
  httpGet: {path: {{ .Values.readyPath }}, port: admin}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
livenessProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- include "onceguard.confined" . | nindent 2 }}
volumeMounts:
  {{- include "onceguard.mounts" . | nindent 2 }}
{{- end -}}
