{{- define "tfjob.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- /* Leaves space for the suffixes of derived names. */ -}}
{{- printf "%s-operator" (.Release.Name | trunc 44 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "tfjob.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "tfjob.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "tfjob.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "tfjob.jobNamespace" -}}
{{- .Values.namespaced.namespace | default .Release.Namespace -}}
{{- end -}}

{{- /* Operators that serve different namespaces have different Leases. */ -}}
{{- define "tfjob.leaseName" -}}
{{- $known := "1ca428e5.training-operator.kubeflow.org" -}}
{{- $served := include "tfjob.jobNamespace" . -}}
{{- if .Values.leaderElection.id -}}
{{- .Values.leaderElection.id -}}
{{- else if eq $served .Release.Namespace -}}
{{- $known -}}
{{- else -}}
{{- printf "%s.%s" $known $served -}}
{{- end -}}
{{- end -}}

{{- define "tfjob.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "tfjob.labels" -}}
{{ include "tfjob.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* Labels by which tools for training-operator and tf-job-operator find the operator. */ -}}
{{- define "tfjob.knownLabels" -}}
control-plane: kubeflow-training-operator
name: tf-job-operator
{{- end -}}

{{- /* The operator needs no service mesh sidecar. podLabels can override that, but not the labels of
the selector. */ -}}
{{- define "tfjob.podLabels" -}}
{{- $own := fromYaml (include "tfjob.labels" .) -}}
{{- $known := fromYaml (include "tfjob.knownLabels" .) -}}
{{- $mesh := dict "sidecar.istio.io/inject" "false" -}}
{{- toYaml (merge (dict) $own $known .Values.podLabels $mesh) -}}
{{- end -}}

{{- define "tfjob.podAnnotations" -}}
{{- /* The operator reads its configuration at start-up only, so a change must replace the pod. */ -}}
{{- $config := include "tfjob.controllerConfig" . | sha256sum | trunc 16 -}}
{{- $own := dict "kubectl.kubernetes.io/default-container" "operator" "tfjob.dev/config" $config -}}
{{- $mesh := dict "sidecar.istio.io/inject" "false" -}}
{{- toYaml (merge (dict) .Values.podAnnotations $own $mesh) -}}
{{- end -}}

{{- define "tfjob.gang" -}}
{{- $scheduler := .Values.operator.gangSchedulerName | lower -}}
{{- if has $scheduler (list "" "none") -}}
{{- else if eq $scheduler "volcano" -}}
volcano
{{- else if eq $scheduler "kubernetes" -}}
kubernetes
{{- else -}}
schedulerPlugins
{{- end -}}
{{- end -}}

{{- /* `install` is an older name of `create`; it is null unless a user sets it. */ -}}
{{- define "tfjob.hasRoles" -}}
{{- if kindIs "bool" .Values.rbac.install -}}
{{- ternary "yes" "" .Values.rbac.install -}}
{{- else if .Values.rbac.create -}}
yes
{{- end -}}
{{- end -}}
