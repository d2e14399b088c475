{{- define "firstcome.name" -}}
{{- if contains "firstcome" .Release.Name -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-firstcome" .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "firstcome.selector" -}}
app.kubernetes.io/name: firstcome
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "firstcome.labels" -}}
{{ include "firstcome.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "firstcome.replicas" -}}
{{- if kindIs "invalid" .Values.replicas -}}
{{ eq .Values.store "shared" | ternary 3 1 }}
{{- else -}}
{{ int .Values.replicas }}
{{- end -}}
{{- end }}

{{- define "firstcome.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The names that `settings` may have. */}}
{{- define "firstcome.settings" -}}
archive body_bytes command_wait_ms connections cors_origins drain_ms durability header_ms hold_wait_ms hsts_s idle_ms keep_for
leader_lease_ms leave_ms log_format log_level memory_limit_mib nats_monitor nats_monitor_every on_emptied outbox_max pages
pages_shop proxy_header queue rate_address rate_entries rate_key rate_subject settle_delay_ms settle_delay_results
settle_interval_ms snapshot_every snapshot_mib space space_id stream_max_ms subjects trusted_proxies webhook_allow when_less_durable
{{- end }}

{{/* Refuses values that are wrong together. The schema has looked at each of them before. */}}
{{- define "firstcome.check" -}}
{{- if not .Values.image.repository }}
{{- fail "image.repository is empty: set it to where you pushed the image, such as registry.example/firstcome" }}
{{- end }}
{{- if not .Values.secret }}
{{- fail "secret is empty: make a Secret with the file firstcome.toml, which has at least admin_key, and set secret to its name" }}
{{- end }}
{{- if and (eq .Values.store "embedded") (gt (int (include "firstcome.replicas" .)) 1) }}
{{- fail (printf "replicas is %v with store=embedded: the embedded store belongs to one server. Set replicas to 1, or name a Redis, PostgreSQL, MariaDB or NATS in the Secret's firstcome.toml and set store to shared" .Values.replicas) }}
{{- end }}
{{- $known := regexSplit "\\s+" (include "firstcome.settings" .) -1 }}
{{- $secret := list "admin_key" "token_secret" "store" "store_ca" "ledger" "keys" "token_keys" "code_keys" "eligibility" "tls_cert" "tls_key" "tls_client_ca" }}
{{- $own := dict "base_path" "basePath" "pages_dir" "pagesConfigMap" "listen" "address" "data" "volume" }}
{{- range $name, $value := .Values.settings }}
{{- if has $name $secret }}
{{- fail (printf "settings.%s: this setting is a secret, may have a password in it or belongs to one that has: write it into firstcome.toml in the Secret" $name) }}
{{- else if hasKey $own $name }}
{{- fail (printf "settings.%s: the chart sets this one: use the value %s" $name (get $own $name)) }}
{{- else if has $name (list "ops_listen" "advertise") }}
{{- fail (printf "settings.%s: the chart sets this one: leave it out" $name) }}
{{- else if not (has $name $known) }}
{{- fail (printf "settings.%s: there is no such setting. There are: %s" $name (join ", " $known)) }}
{{- end }}
{{- end }}
{{- if and (eq .Values.store "shared") (hasKey .Values.settings "archive") }}
{{- fail "settings.archive with store=shared: the servers have no folder that outlives them, so there is no archive. Leave it out" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.monitoring) }}
{{- fail "serviceMonitor.enabled, but the network policy lets nobody reach /metrics: name your Prometheus in networkPolicy.monitoring, such as [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]" }}
{{- end }}
{{- if and .Values.prometheusRule.enabled (not .Values.prometheusRule.rules) }}
{{- fail "prometheusRule.enabled without rules: add --set-file prometheusRule.rules=FILE, a file of Prometheus rules with groups" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.enabled without ingress.host: set the host under which people reach the server" }}
{{- end }}
{{- end }}

{{/* One flag. Kubernetes would take `$(…)` for a variable of its own, and `$$` for a `$`. */}}
{{- define "firstcome.flag" -}}
{{- $value := kindIs "float64" .value | ternary (int64 .value) .value | toString }}
{{- printf "--%s=%s" (replace "_" "-" .name) (replace "$" "$$" $value) | quote }}
{{- end }}

{{- define "firstcome.pod" -}}
metadata:
  labels:
    {{- include "firstcome.selector" . | nindent 4 }}
    app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "firstcome.name" . }}
  automountServiceAccountToken: false
  # Otherwise a Service called firstcome-… would put variables FIRSTCOME_… into the environment.
  enableServiceLinks: false
  # leave_ms, drain_ms, 10 s to settle and hand over, and 5 s to spare. The server drains by itself: there is no preStop.
  terminationGracePeriodSeconds: {{ add 15 (div (add (int64 .Values.settings.leave_ms) (int64 .Values.settings.drain_ms) 999) 1000) }}
  securityContext:
    runAsNonRoot: true
    {{- if not (kindIs "invalid" .Values.user) }}
    runAsUser: {{ int64 .Values.user }}
    runAsGroup: {{ int64 .Values.user }}
    fsGroup: {{ int64 .Values.user }}
    {{- end }}
    # What is in the volume belongs to the server alone, and stays so.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . | quote }}
    {{- end }}
  {{- end }}
  containers:
    - name: firstcome
      image: {{ include "firstcome.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - serve
        - --config=/etc/firstcome/firstcome.toml
        - --listen={{ .Values.address }}:8080
        - --ops-listen={{ .Values.address }}:8090
        - --advertise=http://$(POD_NAME):8080
        # With the embedded store the server makes this folder in the volume, which may be open to others and have a lost+found.
        - --data=/var/lib/firstcome/data
        {{- if eq .Values.store "shared" }}
        # The folder ends with the pod.
        - --archive=false
        {{- end }}
        {{- with .Values.basePath }}
        - {{ include "firstcome.flag" (dict "name" "base_path" "value" .) }}
        {{- end }}
        {{- if .Values.pagesConfigMap }}
        - --pages-dir=/etc/firstcome-pages
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - {{ include "firstcome.flag" (dict "name" $name "value" $value) }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
      ports:
        - name: http
          containerPort: 8080
        - name: ops
          containerPort: 8090
      startupProbe:
        httpGet:
          path: /livez
          port: ops
          {{- if $.Values.tls }}
          scheme: HTTPS
          {{- end }}
        periodSeconds: 2
        failureThreshold: {{ div (add (int64 .Values.startupSeconds) 1) 2 }}
      livenessProbe:
        httpGet:
          path: /livez
          port: ops
          {{- if $.Values.tls }}
          scheme: HTTPS
          {{- end }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet:
          path: /readyz
          port: ops
          {{- if $.Values.tls }}
          scheme: HTTPS
          {{- end }}
        periodSeconds: 1
        timeoutSeconds: 1
        failureThreshold: 2
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: secret
          mountPath: /etc/firstcome
          readOnly: true
        {{- if eq .Values.store "embedded" }}
        - name: data
          mountPath: /var/lib/firstcome
        {{- else }}
        - name: data
          mountPath: /var/lib/firstcome/data
        # Without `store` in its file a server would begin a store of its own here, and three of them would sell everything three
        # times. A folder where the journal would be stands in its way.
        - name: secret
          mountPath: /var/lib/firstcome/data/journal.sqlite
          readOnly: true
        {{- end }}
        {{- if .Values.pagesConfigMap }}
        - name: pages
          mountPath: /etc/firstcome-pages
          readOnly: true
        {{- end }}
  volumes:
    - name: secret
      secret:
        secretName: {{ .Values.secret | quote }}
        # For the group, which is fsGroup.
        defaultMode: 0440
    {{- if eq .Values.store "shared" }}
    - name: data
      emptyDir:
        sizeLimit: 16Mi
    {{- end }}
    {{- if .Values.pagesConfigMap }}
    - name: pages
      configMap:
        name: {{ .Values.pagesConfigMap | quote }}
    {{- end }}
  {{- if eq .Values.store "shared" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: {{ .Values.whenZonesDiffer }}
      labelSelector:
        matchLabels:
          {{- include "firstcome.selector" . | nindent 10 }}
      # Those of the build that is replaced do not count.
      matchLabelKeys: [pod-template-hash]
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "firstcome.selector" . | nindent 10 }}
      matchLabelKeys: [pod-template-hash]
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- range $name := list "nodeSelector" "tolerations" "affinity" }}
  {{- with index $.Values $name }}
  {{ $name }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}
