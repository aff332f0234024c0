{{- define "overnight.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains "overnight" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-overnight" (.Release.Name | trunc 40 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "overnight.selector" -}}
app.kubernetes.io/name: overnight
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Of pods that serve, and not of a migration. */}}
{{- define "overnight.serves" -}}
app.kubernetes.io/part-of: {{ include "overnight.fullname" . }}
{{- end -}}

{{- define "overnight.labels" -}}
{{ include "overnight.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end -}}

{{- define "overnight.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "overnight.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{ .Values.publicUrl }}
{{- else if and .Values.ingress.enabled .Values.ingress.tlsSecret -}}
https://{{ .Values.ingress.host }}
{{- end -}}
{{- end -}}

{{- define "overnight.databaseUrl" -}}
- name: OVERNIGHT_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ required "mode: postgres needs database.existingSecret (or existingSecret), the name of a Secret with the URL of the database" (.Values.database.existingSecret | default .Values.existingSecret) }}
      key: {{ .Values.database.key }}
{{- end -}}

{{- define "overnight.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "overnight.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* The pod of a component: (dict "root" $ "component" "api" "values" .Values.api). */}}
{{- define "overnight.pod" -}}
{{- $root := .root -}}
{{- $shutdown := $root.Values.shutdown -}}
{{- $linger := ternary $shutdown.lingerSeconds 0 (eq .component "api") -}}
metadata:
  labels:
    {{- include "overnight.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    {{- include "overnight.serves" $root | nindent 4 }}
  annotations:
    checksum/settings: {{ $root.Values.settings | sha256sum }}
    {{- with .values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  # Variables that Kubernetes would set beside a Service named overnight-… look like settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add $linger $shutdown.drainSeconds $shutdown.marginSeconds }}
  securityContext:
    {{- include "overnight.podSecurity" $root | nindent 4 }}
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  containers:
    - name: overnight
      image: {{ include "overnight.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [serve{{ if ne .component "standalone" }}, --role, {{ .component }}{{ end }}]
      env:
        - { name: OVERNIGHT_LISTEN, value: {{ printf "%s:8080" $root.Values.bindAddress | quote }} }
        - { name: OVERNIGHT_METRICS_LISTEN, value: {{ printf "%s:9464" $root.Values.bindAddress | quote }} }
        - { name: OVERNIGHT_DATA_DIR, value: /var/lib/overnight/data }
        - { name: OVERNIGHT_CONFIG, value: /etc/overnight/overnight.toml }
        - { name: OVERNIGHT_LINGER, value: {{ $linger }}s }
        - { name: OVERNIGHT_DRAIN, value: {{ $shutdown.drainSeconds }}s }
        - name: OVERNIGHT_NODE
          valueFrom: { fieldRef: { fieldPath: metadata.name } }
        {{- with include "overnight.publicUrl" $root }}
        - { name: OVERNIGHT_PUBLIC_URL, value: {{ . | quote }} }
        {{- end }}
        {{- with $root.Values.metrics.tokenKey }}
        - { name: OVERNIGHT_METRICS_TOKEN_ENV, value: {{ . | quote }} }
        {{- end }}
        {{- if ne .component "standalone" }}
        {{- include "overnight.databaseUrl" $root | nindent 8 }}
        {{- end }}
        {{- with $root.Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $root.Values.existingSecret }}
      envFrom:
        - secretRef: { name: {{ . }} }
      {{- end }}
      ports:
        - { name: http, containerPort: 8080 }
        - { name: metrics, containerPort: 9464 }
      # Here, because clients who fill the other port do not reach this one.
      startupProbe:
        httpGet: { path: /livez, port: metrics }
        periodSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet: { path: /livez, port: metrics }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: metrics }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 1
      {{- with .values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "overnight.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /var/lib/overnight }
        - { name: settings, mountPath: /etc/overnight, readOnly: true }
        - { name: tmp, mountPath: /tmp }
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: settings
      configMap: { name: {{ include "overnight.fullname" $root }} }
    - name: tmp
      emptyDir: {}
    {{- if ne .component "standalone" }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "overnight.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ .component }}
  {{- with .values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
