{{- define "tfjob.arguments" -}}
- --metrics-bind-address=:{{ .Values.metrics.port }}
{{- if .Values.metrics.tokenReview }}
{{- if .Values.namespaced.enabled }}
{{- fail "metrics.tokenReview needs permissions of the whole cluster; namespaced.enabled grants none" }}
{{- end }}
- --metrics-token-review
{{- end }}
- --health-probe-bind-address=:{{ .Values.probes.port }}
- --zap-encoder={{ .Values.logging.encoder }}
- --zap-log-level={{ .Values.logging.level }}
{{- if .Values.leaderElection.enabled }}
- --leader-elect
- --leader-election-id={{ include "tfjob.leaseName" . }}
{{- end }}
{{- if .Values.namespaced.enabled }}
- --namespace={{ include "tfjob.jobNamespace" . }}
{{- end }}
{{- range $dialect := fromYamlArray (include "tfjob.dialects" .) }}
{{- range $dialect.arguments }}
- {{ . }}
{{- end }}
{{- end }}
{{- if .Values.dialects.tensorflow }}
- --controller-config-file={{ .Values.config.file | default "/etc/config" }}
{{- end }}
{{- with .Values.operator }}
- --controller-threads={{ .controllerThreads | int64 }}
- --resync-period={{ .resyncPeriod }}
- --pacing={{ ternary "on" "off" .pacing.enabled }}
- --pacing-status-delay={{ .pacing.statusDelay }}
- --pacing-event-delay={{ .pacing.eventDelay }}
- --exit-code-table={{ .exitCodeTable }}
- --default-clean-pod-policy={{ .defaultCleanPodPolicy }}
- --recovery={{ .recovery }}
- --force-delete-stuck-after={{ .forceDeleteStuckAfter }}
{{- if .gangSchedulerName }}
- --gang-scheduler-name={{ .gangSchedulerName }}
{{- end }}
{{- if .legacyLabels }}
- --legacy-labels
{{- end }}
{{- if .evaluatorInCluster }}
- --evaluator-in-cluster
{{- end }}
{{- if not .keepLastLines }}
- --keep-last-lines=false
{{- end }}
{{- if .kueuePodGroups }}
- --kueue-pod-groups
{{- end }}
{{- if .resultFinalizers }}
- --result-finalizers
{{- end }}
{{- if .kubeApiQps }}
- --kube-api-qps={{ .kubeApiQps }}
{{- end }}
{{- if .kubeApiBurst }}
- --kube-api-burst={{ .kubeApiBurst | int64 }}
{{- end }}
{{- range .extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}
